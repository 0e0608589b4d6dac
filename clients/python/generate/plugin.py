"""A local plugin of buf: messages, their types and service stubs for Python, below the package retrial.gen.

protoc's Python output imports by the path of the proto file, which here would be the SDK's own package: the imports are
moved to retrial.gen, so that generated names meet no others.
"""

import re
import sys
import tempfile
from pathlib import Path

try:
    from google.protobuf import descriptor_pb2
    from google.protobuf.compiler import plugin_pb2
    from grpc_tools import protoc
except ImportError:
    sys.exit("grpcio-tools is missing: run `make generate-python`, or pip install -r clients/python/generate/requirements.lock")

IMPORT = re.compile(r"^from retrial\.", re.MULTILINE)


def generate(request: plugin_pb2.CodeGeneratorRequest) -> plugin_pb2.CodeGeneratorResponse:
    response = plugin_pb2.CodeGeneratorResponse(supported_features=plugin_pb2.CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
    with tempfile.TemporaryDirectory() as name:
        out, descriptors = Path(name, "out"), Path(name, "descriptors")
        out.mkdir()
        descriptors.write_bytes(descriptor_pb2.FileDescriptorSet(file=request.proto_file).SerializeToString())
        flags = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
        if protoc.main(["protoc", f"--descriptor_set_in={descriptors}", *flags, *request.file_to_generate]) != 0:
            response.error = "protoc failed"
            return response
        files = {path.relative_to(out / "retrial"): path.read_text() for path in out.rglob("*") if path.is_file()}
    files = {path: text for path, text in files.items() if not path.name.endswith("_pb2_grpc.py") or "class " in text}
    packages = {parent / "__init__.py" for path in files for parent in path.parents}
    for path, text in sorted((files | dict.fromkeys(packages, "")).items()):
        response.file.add(name=path.as_posix(), content=IMPORT.sub("from retrial.gen.", text))
    return response


if __name__ == "__main__":
    request = plugin_pb2.CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
    sys.stdout.buffer.write(generate(request).SerializeToString())
