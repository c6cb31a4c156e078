"""Handlers for `LocalServer` that speak each translator's protocol and refuse what it refuses.

Each checks what its service checks (path, method, key, fields, limits, languages) and answers
errors in its service's own form. What they translate with is `toy_translation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.servers import Request, Response, toy_translation

ISO2 = {"en", "tr", "de", "es", "pt", "no", "nb", "eo", "zh", "hi", "fr"}


def _error(status: int, value: Any) -> Response:
    return Response.json(value, status)


def apertium_apy(request: Request) -> Response:
    """apertium-apy: arguments in the query or in a form; errors with an explanation."""
    fields = request.query | (request.form() if request.method == "POST" else {})
    if request.path != "/translate":
        return _error(404, {"status": "error", "code": 404, "message": "Not Found", "explanation": ""})
    pair = fields["langpair"][0].split("|")
    if len(pair) != 2 or any(len(code) != 3 for code in pair):
        why = "That pair is invalid, use e.g. eng|spa"
        return _error(400, {"status": "error", "code": 400, "message": "Bad Request", "explanation": why})
    if "xyz" in pair:
        why = "That pair is not installed"
        return _error(400, {"status": "error", "code": 400, "message": "Bad Request", "explanation": why})
    short = {"eng": "en", "tur": "tr", "spa": "es", "epo": "eo", "nob": "nb"}
    text = toy_translation(fields["q"][0], short[pair[0]], short[pair[1]])
    if fields.get("markUnknown", ["yes"])[0] == "yes":
        text = "*" + text
    if fields.get("format", ["html"])[0] != "txt":
        text = text.replace("<", "&lt;")
    data = {"translatedText": text}
    return Response.json({"responseData": data, "responseDetails": None, "responseStatus": 200})


@dataclass(frozen=True)
class LibreTranslateServer:
    """LibreTranslate; with `key` set, a server that wants one."""

    key: str = ""

    def __call__(self, request: Request) -> Response:
        if (request.method, request.path) != ("POST", "/translate"):
            return _error(404, {"error": "Not Found"})
        asked = request.json()
        if self.key and "api_key" not in asked:
            return _error(400, {"error": "Visit our portal to get an API key"})
        if self.key and asked["api_key"] != self.key:
            return _error(403, {"error": "Invalid API key"})
        for name in ("q", "source", "target"):
            if not asked.get(name):
                return _error(400, {"error": f"Invalid request: missing {name} parameter"})
        for code in (asked["source"], asked["target"]):
            if code not in ISO2:
                return _error(400, {"error": f"{code} is not supported"})
        texts = asked["q"] if isinstance(asked["q"], list) else [asked["q"]]
        if sum(map(len, texts)) > 2_000 and len(texts) > 1:
            return _error(400, {"error": "Invalid request: request exceeds text limit (2000)"})
        done = [toy_translation(text, asked["source"], asked["target"]) for text in texts]
        return Response.json({"translatedText": done if isinstance(asked["q"], list) else done[0]})


@dataclass(frozen=True)
class DeepLServer:
    """DeepL, `POST /v2/translate`."""

    key: str

    def __call__(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"DeepL-Auth-Key {self.key}":
            return Response(403)  # DeepL gives no body here
        if (request.method, request.path) != ("POST", "/v2/translate"):
            return _error(404, {"message": "Not found"})
        asked = request.json()
        texts, target = asked.get("text"), asked.get("target_lang")
        if not isinstance(texts, list) or not texts or len(texts) > 50:
            return _error(
                400, {"message": "Bad request. Reason: Parameter 'text' not specified or too many."}
            )
        if asked.get("source_lang") not in {code.upper() for code in ISO2}:
            return _error(400, {"message": "Value for 'source_lang' not supported."})
        if target not in {"EN-US", "EN-GB", "PT-PT", "PT-BR", "TR", "DE", "ES", "NB"}:
            return _error(400, {"message": "Value for 'target_lang' not supported."})
        source = asked["source_lang"].lower()
        done = [toy_translation(text, source, target[:2].lower()) for text in texts]
        return Response.json(
            {"translations": [{"detected_source_language": source.upper(), "text": text} for text in done]}
        )


def google_error(code: int, message: str, reason: str) -> Response:
    """An error as Google APIs give it."""
    detail = {"message": message, "domain": "global", "reason": reason}
    return _error(code, {"error": {"code": code, "message": message, "errors": [detail]}})


@dataclass(frozen=True)
class GoogleServer:
    """Google Cloud Translation, Basic (v2)."""

    key: str

    def __call__(self, request: Request) -> Response:
        given = request.headers.get("x-goog-api-key") or request.query.get("key", [""])[0]
        if not given:
            return google_error(403, "The request is missing a valid API key.", "forbidden")
        if given != self.key:
            return google_error(400, "API key not valid. Please pass a valid API key.", "badRequest")
        if (request.method, request.path) != ("POST", "/language/translate/v2"):
            return google_error(404, "Requested entity was not found.", "notFound")
        asked = request.json()
        if len(asked["q"]) > 128:
            return google_error(400, "Too many text segments", "invalid")
        if asked["target"] not in ISO2 | {"zh-CN", "zh-TW"}:
            return google_error(400, "Invalid Value", "invalid")
        done = [toy_translation(text, asked["source"], asked["target"]) for text in asked["q"]]
        if asked.get("format") != "text":
            done = [text.replace("'", "&#39;").replace("<", "&lt;") for text in done]
        return Response.json({"data": {"translations": [{"translatedText": text} for text in done]}})


@dataclass(frozen=True)
class YandexServer:
    """Yandex Cloud Translate (v2). Empty texts are left out of its JSON."""

    key: str
    folder: str = ""

    def __call__(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Api-Key {self.key}":
            return _error(401, {"code": 16, "message": "Unknown api key", "details": []})
        if (request.method, request.path) != ("POST", "/translate/v2/translate"):
            return _error(404, {"code": 5, "message": "Not Found", "details": []})
        asked = request.json()
        if self.folder and asked.get("folderId") != self.folder:
            return _error(403, {"code": 7, "message": "Permission denied to folder", "details": []})
        texts = asked["texts"]
        if sum(map(len, texts)) > 10_000:
            return _error(400, {"code": 3, "message": "texts: total length is over 10000", "details": []})
        if asked["targetLanguageCode"] not in ISO2:
            return _error(400, {"code": 3, "message": "unsupported target_language_code", "details": []})
        source, target = asked["sourceLanguageCode"], asked["targetLanguageCode"]
        done = [toy_translation(text, source, target) for text in texts]
        return Response.json({"translations": [{"text": text} if text else {} for text in done]})
