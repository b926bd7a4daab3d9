"""Prints what SAM's own translator makes of a template: plain CloudFormation, in JSON.

    python translate.py TEMPLATE

The parameters have their defaults.
"""

import json
import sys

from samcli.yamlhelper import parse_yaml_file
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

template = parse_yaml_file(sys.argv[1])
values = {k: str(v["Default"]) for k, v in template.get("Parameters", {}).items() if "Default" in v}
for resource in template["Resources"].values():
    # The artifact, which "sam build" and "sam deploy" put into a bucket.
    if resource["Type"] == "AWS::Serverless::Function":
        resource["Properties"]["CodeUri"] = "s3://bucket/key"
print(json.dumps(Translator({}, Parser()).translate(template, values), indent=2))
