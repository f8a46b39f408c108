"""Makes the calls of plan.json (life.ts) with the package that openapi-python-client has generated: `client`."""

import importlib
import json
import os
import re
import typing
from pathlib import Path

import client.models
from client import AuthenticatedClient

api = AuthenticatedClient(base_url=os.environ["API_URL"], token=os.environ["API_KEY"])
results: dict[str, typing.Any] = {}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def filled(value):
    """Placeholders of earlier results become their values."""
    if isinstance(value, dict):
        return {name: filled(member) for name, member in value.items()}
    if isinstance(value, list):
        return [filled(member) for member in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\{(\w+_\d+)\.(\w+)\}", lambda found: getattr(results[found[1]], found[2]), value)


for call in json.loads(Path("plan.json").read_text()):
    tag = re.sub(r"\W+", "_", call["tag"]).lower()
    operation = importlib.import_module(f"client.api.{tag}.{snake(call['operationId'])}")
    arguments = {name: filled(value) for name, value in call["params"].items()}
    if "body" in call:
        model = getattr(client.models, call["schema"])
        arguments["body"] = model.from_dict(filled(call["body"]))
    response = operation.sync_detailed(client=api, **arguments)
    wanted = {"POST": 201, "DELETE": 204}.get(call["method"], 200)
    assert response.status_code == wanted, f"{call['operationId']}: {response.content!r}"
    if "result" in call:
        results[call["result"]] = response.parsed
    if "collection" in call:
        assert getattr(response.parsed, call["collection"]), f"{call['operationId']}: an empty list"
