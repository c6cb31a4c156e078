"""Machine translators over the network, each by its published wire protocol and without its SDK.

    ApertiumApy      POST /translate       form q, langpair         no key
    LibreTranslate   POST /translate       JSON q (a list)          api_key in the body, optional
    DeepL            POST /v2/translate    JSON text (a list)       Authorization: DeepL-Auth-Key
    Google           POST /language/translate/v2   JSON q (a list)  X-Goog-Api-Key
    Yandex           POST /translate/v2/translate  JSON texts       Authorization: Api-Key

What a service answers is passed on as it is, in whatever language it is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import field_validator

from trustgauge.errors import BusyError, PlanError, RefusedError, ServiceError
from trustgauge.records import Message, Reply
from trustgauge.services import ApiKeySpec, Price, TranslatorSpec, languages
from trustgauge.services.transport import ConnectionSettings, HttpResponse, Transport, key_from, web_address


@dataclass(frozen=True, slots=True)
class Connection:
    """What an exchange needs: the client, the address, the key, and the service's language codes."""

    http: Transport
    url: str
    key: str
    source: str
    target: str


class NetworkTranslator(ApiKeySpec, TranslatorSpec):
    """What translators over the network share; an adapter adds its protocol.

    Attributes:
        url: address of the service, if not its usual one; it may not hold a password.
    """

    key_needed: ClassVar[bool] = True
    most_characters: ClassVar[int] = 20_000  # of all texts of one request
    letters: ClassVar[int] = 2  # of the codes it goes by: ISO 639-1 or 639-3
    codes: ClassVar[Mapping[str, str]] = {}  # its own codes where they differ from ISO 639
    target_codes: ClassVar[Mapping[str, str]] = {}  # where only those of targets differ

    url: str = ""

    @field_validator("source", "target")
    @classmethod
    def _language(cls, code: str) -> str:
        return languages.check(code) if code else code

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        return web_address(url) if url else url

    @classmethod
    def named(cls, model: str) -> Self:
        """`en-tr`, or `tr` for English to Turkish."""
        source, dash, target = model.partition("-")
        fields: dict[str, Any] = {"source": source, "target": target} if dash else {"target": model}
        return cls(**fields)

    def key_address(self) -> str:
        return self._url("")

    def check_requirements(self) -> None:
        if not self.target:
            must = (
                "a language, such as de; or a service round-trip with its `via` and this one as `translator`"
            )
            raise PlanError.of("target", "no language to translate into", must=must)
        if self.key_needed:
            key_from(self.key, self.provider)
            if not self.key_to_send():
                raise self.host_error()

    def open(self) -> LiveTranslator:
        """A live translator with one pooled client of its own.

        Raises:
            KeyMissingError: a key is needed and its environment variable is empty.
        """
        self.check_requirements()
        key = self.key_to_send()
        name, headers = self.name_in_errors(), self._headers(key)
        facts = ConnectionSettings(name, self.timeout, secrets=(key,), headers=headers)
        wire = Connection(
            Transport(facts),
            self._url(key),
            key,
            languages.native(self.source, self.codes, letters=self.letters),
            languages.native(self.target, {**self.codes, **self.target_codes}, letters=self.letters),
        )
        return LiveTranslator(self, wire)

    def _url(self, key: str) -> str:
        return self.url or self.usual_url

    def _headers(self, key: str) -> Mapping[str, str]:
        """Sent with every request."""
        return {}

    @abstractmethod
    async def exchange(self, wire: Connection, texts: Sequence[str]) -> Any:
        """One request and what its answer holds: by protocol a list of translations, in order.

        Raises:
            ServiceError: the request failed.
        """

    def fault(self, wire: Connection, answer: HttpResponse) -> ServiceError:
        """The error that a status other than success stands for."""
        return wire.http.fault(answer)

    async def post(self, wire: Connection, path: str, value: Mapping[str, Any]) -> Any:
        """POST JSON to a path of the service; the JSON of a successful answer."""
        body = wire.http.encode(value)
        answer = await wire.http.send("POST", wire.url + path, body, "application/json")
        if not 200 <= answer.status < 300:
            raise self.fault(wire, answer)
        return wire.http.json(answer)


class LiveTranslator:
    """A translator with its client: asks in as few requests as its limits allow."""

    def __init__(self, description: NetworkTranslator, wire: Connection) -> None:
        self._description, self._wire = description, wire

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        """One reply a message, in order; one request, or several where the texts are long.

        Raises:
            ServiceError: of the first request that failed; it stands for all messages.
        """
        replies: list[Reply] = []
        for texts in _portions([message.text for message in messages], self._description.most_characters):
            found = await self._description.exchange(self._wire, texts)
            replies += [Reply(text) for text in self._checked(found, len(texts))]
        return replies

    async def close(self) -> None:
        await self._wire.http.close()

    def _checked(self, found: Any, wanted: int) -> Iterator[str]:
        http = self._wire.http
        if not isinstance(found, list) or len(found) != wanted:
            got = f"{len(found)} of them" if isinstance(found, list) else "none"
            raise http.garbled_answer(
                "lacks translations", must=f"{wanted} of them, one for each text", got=got
            )
        for text in found:
            if not isinstance(text, str):
                raise http.garbled_answer("contains a translation that is not text", got=type(text).__name__)
            yield http.clean(text)


def _portions(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """The texts in order, in lists of at most `most` characters; a longer text stands alone."""
    portion: list[str] = []
    size = 0
    for text in texts:
        if portion and size + len(text) > most:
            yield portion
            portion, size = [], 0
        portion.append(text)
        size += len(text)
    if portion:
        yield portion


def _each(found: Any, name: str, missing: Any = None) -> Any:
    """The field `name` of each item of a list; None if it is no list."""
    if not isinstance(found, list):
        return None
    return [item.get(name, missing) if isinstance(item, dict) else None for item in found]


def _at(found: Any, *path: str) -> Any:
    """What stands at a path of names in nested objects; None if there is nothing."""
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


class ApertiumApy(NetworkTranslator):
    """A server of apertium-apy. Unknown words come without their mark, as people would see them."""

    provider: ClassVar[str] = "Apertium"
    usual_url: ClassVar[str] = "http://localhost:2737"
    key_needed: ClassVar[bool] = False
    letters: ClassVar[int] = 3
    codes: ClassVar[Mapping[str, str]] = {"no": "nob"}

    use: str = "apertium-apy"

    async def exchange(self, wire: Connection, texts: Sequence[str]) -> Any:
        """One text: the protocol knows no lists. A form, as an address has no room for long texts."""
        pair = f"{wire.source}|{wire.target}"
        fields = {"q": texts[0], "langpair": pair, "markUnknown": "no", "format": "txt"}
        found = await wire.http.post_form(f"{wire.url}/translate", fields)
        return [_at(found, "responseData", "translatedText")]


class LibreTranslate(NetworkTranslator):
    """LibreTranslate, self-hosted (at its usual local address) or hosted; the key is optional."""

    provider: ClassVar[str] = "LibreTranslate"
    batch: ClassVar[int] = 16
    usual_url: ClassVar[str] = "http://localhost:5000"
    key_needed: ClassVar[bool] = False
    most_characters: ClassVar[int] = 2_000  # the usual limit of hosted servers
    codes: ClassVar[Mapping[str, str]] = {"no": "nb", "zh-TW": "zh-Hant", "zh-CN": "zh-Hans"}

    use: str = "libretranslate"
    key: str = "LIBRETRANSLATE_API_KEY"

    async def exchange(self, wire: Connection, texts: Sequence[str]) -> Any:
        asked = {"q": list(texts), "source": wire.source, "target": wire.target, "format": "text"}
        if wire.key:
            asked["api_key"] = wire.key
        return _at(await self.post(wire, "/translate", asked), "translatedText")

    def fault(self, wire: Connection, answer: HttpResponse) -> ServiceError:
        error = wire.http.fault(answer)
        if answer.status == 400 and b"API key" in answer.body:
            return RefusedError(error.what, do=f"Set {self.key or 'key'} to a key of this server")
        return error


class DeepL(NetworkTranslator):
    """DeepL. A key that ends in `:fx` is of the free plan, which has an address of its own.

    `formality` and `model_type` are DeepL's own options; left empty they are not sent. The price
    is the list price of the paid plan.

    Attributes:
        formality: DeepL's option; not sent if empty.
        model_type: DeepL's option; not sent if empty.
    """

    own_hosts: ClassVar[tuple[str, ...]] = ("api.deepl.com", "api-free.deepl.com")
    provider: ClassVar[str] = "DeepL"
    batch: ClassVar[int] = 50  # the most texts a request may hold
    usual_url: ClassVar[str] = "https://api.deepl.com"
    free_url: ClassVar[str] = "https://api-free.deepl.com"
    codes: ClassVar[Mapping[str, str]] = {"no": "nb"}
    target_codes: ClassVar[Mapping[str, str]] = {"en": "en-US", "pt": "pt-PT"}  # must name a variant

    use: str = "deepl"
    key: str = "DEEPL_API_KEY"
    formality: Literal["", "default", "more", "less", "prefer_more", "prefer_less"] = ""
    model_type: str = ""
    usd_per_million_characters: Price = 25.0

    def _url(self, key: str) -> str:
        return self.url or (self.free_url if key.endswith(":fx") else self.usual_url)

    def _headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"DeepL-Auth-Key {key}"}

    async def exchange(self, wire: Connection, texts: Sequence[str]) -> Any:
        asked: dict[str, Any] = {"text": list(texts), "target_lang": wire.target.upper()}
        asked["source_lang"] = wire.source.split("-")[0].upper()  # sources have no variants
        asked |= {name: value for name in ("formality", "model_type") if (value := getattr(self, name))}
        return _each(_at(await self.post(wire, "/v2/translate", asked), "translations"), "text")

    def fault(self, wire: Connection, answer: HttpResponse) -> ServiceError:
        error = wire.http.fault(answer)
        if answer.status == 456:
            return RefusedError(
                f"{error.what}: the quota is used up", do="Raise the quota or wait for the next"
            )
        return error


class Google(NetworkTranslator):
    """Google Cloud Translation, Basic (v2), with an API key. The price is the list price.

    Attributes:
        model: Google's option; not sent if empty.
    """

    own_hosts: ClassVar[tuple[str, ...]] = ("translation.googleapis.com",)
    provider: ClassVar[str] = "Google"
    batch: ClassVar[int] = 50  # at most 128 by the protocol
    usual_url: ClassVar[str] = "https://translation.googleapis.com"
    most_characters: ClassVar[int] = 5_000  # recommended by the service
    codes: ClassVar[Mapping[str, str]] = {"nb": "no", "zh": "zh-CN", "zh-Hans": "zh-CN", "zh-Hant": "zh-TW"}

    use: str = "google"
    key: str = "GOOGLE_API_KEY"
    model: str = ""
    usd_per_million_characters: Price = 20.0

    def _headers(self, key: str) -> Mapping[str, str]:
        # In a header, since an address with the key in it would be written into logs on the way.
        return {"X-Goog-Api-Key": key}

    async def exchange(self, wire: Connection, texts: Sequence[str]) -> Any:
        asked: dict[str, Any] = {"q": list(texts), "source": wire.source, "target": wire.target}
        asked["format"] = "text"
        if self.model:
            asked["model"] = self.model
        found = await self.post(wire, "/language/translate/v2", asked)
        return _each(_at(found, "data", "translations"), "translatedText")

    def fault(self, wire: Connection, answer: HttpResponse) -> ServiceError:
        """Google says "too fast" with 403 too, and "wrong key" with 400: the reasons tell."""
        error = wire.http.fault(answer)
        if answer.status == 403 and b"ateLimitExceeded" in answer.body:
            return BusyError(error.what, retry_after=answer.retry_after)
        if answer.status == 400 and (b"API_KEY_INVALID" in answer.body or b"API key" in answer.body):
            return RefusedError(error.what, do=f"Check the key in {self.key}")
        return error


class Yandex(NetworkTranslator):
    """Yandex Cloud Translate (v2) with an API key.

    `folder` is the id of a folder; the key of a service account needs none. It changes no answer.

    Attributes:
        folder: id of the folder in Yandex Cloud; the key of a service account needs none.
    """

    NOT_IDENTITY: ClassVar[frozenset[str]] = NetworkTranslator.NOT_IDENTITY | {"folder"}
    own_hosts: ClassVar[tuple[str, ...]] = ("translate.api.cloud.yandex.net",)
    provider: ClassVar[str] = "Yandex"
    batch: ClassVar[int] = 50
    usual_url: ClassVar[str] = "https://translate.api.cloud.yandex.net"
    most_characters: ClassVar[int] = 10_000  # the limit of the protocol
    codes: ClassVar[Mapping[str, str]] = {"nb": "no"}

    use: str = "yandex"
    key: str = "YANDEX_API_KEY"
    folder: str = ""

    def _headers(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Api-Key {key}"}

    async def exchange(self, wire: Connection, texts: Sequence[str]) -> Any:
        asked: dict[str, Any] = {"texts": list(texts), "format": "PLAIN_TEXT"}
        asked |= {"sourceLanguageCode": wire.source, "targetLanguageCode": wire.target}
        if self.folder:
            asked["folderId"] = self.folder
        found = await self.post(wire, "/translate/v2/translate", asked)
        # JSON made from protocol buffers leaves empty texts out.
        return _each(_at(found, "translations"), "text", missing="")
