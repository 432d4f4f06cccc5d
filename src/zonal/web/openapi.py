"""The OpenAPI description of the API, made from the table of operations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from zonal.web.words import LONGEST, TRIAL, Route

PROBLEM = {
    "type": "object",
    "required": ["title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What was wrong, with which value, and what to do about it."},
        "field": {"type": "string", "description": "The wrong field, if it is known."},
    },
}
NAME = {"type": "string", "minLength": 1, "maxLength": 250, "pattern": "^[^/\\\\\\x00]+$"}


def described(routes: Iterable[Route], version: str) -> dict[str, Any]:
    """Return the OpenAPI document of some routes with complete paths."""
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    about = "Every error is application/problem+json. One token gives all rights; see docs/manual/serve.md."
    return {
        "openapi": "3.1.0",
        "info": {"title": "Zonal", "version": version, "description": about},
        "paths": paths,
        "components": {
            "schemas": {"Problem": PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route) -> dict[str, Any]:
    places = [_parameter("name", NAME, "path")] if "{name}" in route.path else []
    places += [_parameter("trial", TRIAL, "path")] if "{trial}" in route.path else []
    found: dict[str, Any] = {"summary": route.about, "operationId": _called(route)}
    if route.method == "POST":
        body = {"type": "object", "additionalProperties": False, "properties": _lenient(route.says)}
        content = {"application/json": {"schema": {**body, "required": list(route.needs)}}}
        found["requestBody"] = {"required": bool(route.needs), "content": content}
        if route.word == "ask":
            key = {"type": "string", "maxLength": LONGEST, "pattern": "^[ -~]*$"}
            places.append(_parameter("Idempotency-Key", key, "header"))
    else:
        places += [_parameter(name, schema, "query", name in route.needs) for name, schema in route.says.items()]
    media: dict[str, Any] = (
        {"application/json": {"schema": {}}} if route.kind == "application/json" else {route.kind: {}}
    )
    errors = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    refused = {"description": "Refused: what was wrong, and what to do.", "content": errors}
    answers = {"200": {"description": "Done.", "content": media}, "304": {"description": "Unchanged."}}
    return {**found, "parameters": places, "responses": {**answers, "4XX": refused, "503": refused}}


def _lenient(says: Mapping[str, Any]) -> dict[str, Any]:
    """Return schemas that allow null for optional fields."""
    return {
        name: {**schema, "type": [schema["type"], "null"]} if "type" in schema else dict(schema)
        for name, schema in says.items()
    }


def _parameter(name: str, schema: Mapping[str, Any], where: str, needed: bool = False) -> dict[str, Any]:
    return {"name": name, "in": where, "required": needed or where == "path", "schema": schema}


def _called(route: Route) -> str:
    words = route.path.replace("{", "").replace("}", "").replace("/api", "").strip("/")
    return f"{route.method.lower()}_{re.sub('[-/.]', '_', words)}"
