"""moto's server, which also speaks the protocol of CloudWatch's clients.

    python server.py PORT CALLS

The SDK for Go calls CloudWatch by Smithy RPC v2 with CBOR, compressed by gzip;
moto knows only the older protocols, JSON among them, and few of PutMetricData's
limits. So a call is read here, by botocore's decoder, held to botocore's model
of the service and to the documented limits, handed to moto as JSON, and moto's
answer is written as CBOR. CALLS is a file that gets a line of JSON for each
PutMetricData: its bytes, how they were compressed, and the number of data.
"""

import datetime
import gzip
import io
import json
import re
import sys

import botocore.loaders
import botocore.model
from botocore.parsers import RpcV2CBORParser
from botocore.serialize import RpcV2CBORSerializer
from botocore.validate import ParamValidator
from moto.moto_server import werkzeug_app
from moto.server import main

SERVICE = botocore.model.ServiceModel(botocore.loaders.Loader().load_service_model("cloudwatch", "service-2"), "cloudwatch")
TEXT_MAP = botocore.model.DenormalizedStructureBuilder().with_members(
    {"__type": {"type": "string"}, "message": {"type": "string"}}
).build_model()
OPERATION = re.compile(r"/service/GraniteServiceVersion20100801/operation/(\w+)$")


def plain(value):
    """The timestamps of a request as JSON has them."""
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    raise TypeError(repr(value))


def encoded(value, shape):
    out = bytearray()
    RpcV2CBORSerializer()._serialize_data_item(out, known(value, shape), shape)
    return bytes(out)


def known(value, shape):
    """What of an answer the shape has, with the types that it says."""
    if shape.type_name == "structure":
        return {k: known(v, shape.members[k]) for k, v in value.items() if k in shape.members and v is not None}
    if shape.type_name == "list":
        return [known(v, shape.member) for v in value]
    if shape.type_name in ("double", "float"):
        return float(value)
    return value


def wrong(name, params, body):
    report = ParamValidator().validate(params, SERVICE.operation_model(name).input_shape)
    if report.has_errors():
        return report.generate_report()
    if name != "PutMetricData":
        return None
    data = params["MetricData"]
    if len(body) > 1_000_000:
        return f"{len(body)} bytes"
    if len(data) > 1000:
        return f"{len(data)} data"
    for d in data:
        values = d.get("Values", [])
        if len(values) > 150 or len(values) != len(d.get("Counts", [])) or bool(values) == ("Value" in d):
            return f"{d['MetricName']} has {len(values)} values"
    return None


class Cbor:
    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        found = OPERATION.match(environ["PATH_INFO"])
        if not found or environ.get("HTTP_SMITHY_PROTOCOL") != "rpc-v2-cbor":
            return self.app(environ, start_response)
        name = found.group(1)
        sent = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        compressed = environ.pop("HTTP_CONTENT_ENCODING", "")
        body = gzip.decompress(sent) if compressed == "gzip" else sent
        parser = RpcV2CBORParser()
        params = parser.parse_data_item(parser.get_peekable_stream_from_bytes(body))
        if name == "PutMetricData":
            with open(sys.argv[2], "a") as f:
                f.write(json.dumps({"Bytes": len(body), "Compressed": compressed, "Data": len(params["MetricData"])}) + "\n")
        problem = wrong(name, params, body)
        if problem:
            status, answer, shape = "400 Bad Request", {"__type": "InvalidParameterValue", "message": problem}, TEXT_MAP
        else:
            status, answer = self.ask(environ, name, json.dumps(params, default=plain).encode())
            shape = SERVICE.operation_model(name).output_shape if status.startswith("200") else TEXT_MAP
        out = encoded(answer, shape or TEXT_MAP)
        headers = [("Smithy-Protocol", "rpc-v2-cbor"), ("Content-Type", "application/cbor"), ("Content-Length", str(len(out)))]
        start_response(status, headers)
        return [out]

    def ask(self, environ, name, body):
        """moto's answer to the same call in JSON."""
        asked = dict(environ)
        asked.update(
            {
                "PATH_INFO": "/", "RAW_URI": "/", "REQUEST_URI": "/", "CONTENT_TYPE": "application/x-amz-json-1.0",
                "HTTP_X_AMZ_TARGET": "GraniteServiceVersion20100801." + name,
                "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body),
            }
        )  # fmt: skip
        for header in ("HTTP_SMITHY_PROTOCOL", "HTTP_X_AMZN_QUERY_MODE", "HTTP_ACCEPT"):
            asked.pop(header, None)
        statuses = []
        answer = b"".join(self.app(asked, lambda status, headers, *_: statuses.append(status)))
        return statuses[0], json.loads(answer or "{}")


class Application(werkzeug_app.DomainDispatcherApplication):
    def __call__(self, environ, start_response):
        return Cbor(super().__call__)(environ, start_response)


if __name__ == "__main__":
    import moto.server

    moto.server.DomainDispatcherApplication = Application
    main(["-H", "127.0.0.1", "-p", sys.argv[1]])
