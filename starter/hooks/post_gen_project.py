"""Removes the files of the deployment that was not chosen."""

import os

FILES = {"sam": ["template.yaml", "samconfig.toml"], "terraform": ["main.tf"]}

for deployment, names in FILES.items():
    if deployment != "{{ cookiecutter.deployment }}":
        for name in names:
            os.remove(name)
