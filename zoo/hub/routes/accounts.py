"""Who am I, and is this card's metadata acceptable."""

from __future__ import annotations

from starlette.responses import Response

from zoo.hub.cards import problems_of
from zoo.hub.errors import bad_request
from zoo.hub.http import Call, answer, route
from zoo.hub.names import check_text
from zoo.hub.rights import signed_in

_CARD_LIMIT = 2 * 1024 * 1024


def _whoami(call: Call) -> Response:
    user = signed_in(call)
    token = {"displayName": "token", "role": user.role}
    return answer(
        {
            "type": "user",
            "id": user.name,
            "name": user.name,
            "fullname": user.name,
            "isPro": False,
            "orgs": [{"type": "org", "name": org, "fullname": org} for org in user.orgs],
            "auth": {"type": "access_token", "accessToken": token},
        }
    )


def _validate_yaml(call: Call) -> Response:
    data = call.json()
    content = check_text(data.get("content"), "content", _CARD_LIMIT)
    if data.get("repoType", "model") != "model":
        raise bad_request("This hub holds models only")
    errors, warnings = problems_of(content.encode())
    body = {name: [{"message": text} for text in texts] for name, texts in _named(errors, warnings)}
    return answer(body, 400 if errors else 200)


def _named(errors: list[str], warnings: list[str]) -> tuple[tuple[str, list[str]], ...]:
    return (("errors", errors), ("warnings", warnings))


def _about(call: Call) -> Response:
    return answer({"hub": "zoo", "api": "the Hugging Face Hub's, for models"})


ROUTES = [
    route("GET", "/", _about),
    route("GET", "/api/whoami-v2", _whoami),
    route("POST", "/api/validate-yaml", _validate_yaml),
]
