"""Prints a SAM template, and what SAM's own translator makes of it, in JSON.

    python translate.py TEMPLATE
"""

import copy
import json
import sys

from samcli.yamlhelper import parse_yaml_file
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

source = parse_yaml_file(sys.argv[1])
template = copy.deepcopy(source)
values = {k: str(v["Default"]) for k, v in template.get("Parameters", {}).items() if "Default" in v}
for resource in template["Resources"].values():
    # The artifact, which "sam build" makes and "sam deploy" puts into a bucket.
    if resource["Type"] == "AWS::Serverless::Function":
        resource["Properties"]["CodeUri"] = "s3://bucket/key"
print(json.dumps({"Source": source, "Plain": Translator({}, Parser()).translate(template, values)}))
