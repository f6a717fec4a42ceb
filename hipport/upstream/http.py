"""HTTP as pip is configured to do it: certificates, proxy, credentials in the URL or netrc."""

from __future__ import annotations

import base64
import http.client
import netrc
import ssl
import urllib.error
import urllib.parse
import urllib.request
import urllib.response
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hipport.core import HipportError

_AGENT = "hipport"


class UnreachableError(HipportError):
    """A server does not answer, or not with what was asked for."""


@dataclass(frozen=True)
class Answer:
    """A page: final address, content type, bytes."""

    url: str
    content_type: str
    body: bytes


@dataclass(frozen=True)
class Http:
    """How to connect.

    Attributes:
        certificates: file of certificate authorities, empty for the system's.
        client_certificate: file with certificate and key, empty for none.
        proxy: proxy URL, empty for what the environment says.
        timeout_s: seconds without an answer.
        trusted_hosts: hosts whose certificate is not checked.
        passwords: (host, ``user:password``) pairs from the indexes' URLs; files on the same host need them too.
    """

    certificates: str = ""
    client_certificate: str = ""
    proxy: str = ""
    timeout_s: float = 15.0
    trusted_hosts: tuple[str, ...] = ()
    passwords: tuple[tuple[str, str], ...] = ()

    def get(self, url: str, accept: str) -> Answer | None:
        """Read a page; None when the server says that it has none (404).

        Raises:
            UnreachableError: no answer, or an error.
        """
        try:
            with self.open(url, accept) as response:
                return Answer(response.url, response.headers.get("content-type", ""), response.read())
        except UnreachableError as error:
            if isinstance(error.__cause__, urllib.error.HTTPError) and error.__cause__.code == 404:
                return None
            raise

    @contextmanager
    def open(self, url: str, accept: str = "*/*") -> Iterator[urllib.response.addinfourl]:
        """Open a URL (``http``, ``https`` or ``file``) for reading.

        Raises:
            UnreachableError: no answer, an error, or a broken connection while reading.
        """
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https", "file"):
            raise UnreachableError(f"cannot fetch {redacted(url)}: scheme {parts.scheme!r} is not supported")
        request = urllib.request.Request(redacted(url), headers={"Accept": accept, "User-Agent": _AGENT})
        credentials = self._credentials(parts)
        if credentials:
            basic = base64.b64encode(credentials.encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {basic}")  # not to another host
        try:
            with self._opener(parts.hostname or "").open(request, timeout=self.timeout_s) as response:
                yield response
        except urllib.error.HTTPError as error:
            raise UnreachableError(f"{redacted(url)} answers {error.code} {error.reason}") from error
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError) as error:
            reason = getattr(error, "reason", None) or error
            raise UnreachableError(f"{redacted(url)} cannot be reached: {reason}") from error

    def _opener(self, host: str) -> urllib.request.OpenerDirector:
        context = ssl.create_default_context(cafile=self.certificates or None)
        if self.client_certificate:
            context.load_cert_chain(self.client_certificate)
        if any(trusted.partition(":")[0] == host for trusted in self.trusted_hosts):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
        if self.proxy:
            handlers.append(urllib.request.ProxyHandler({"http": self.proxy, "https": self.proxy}))
        return urllib.request.build_opener(*handlers)

    def _credentials(self, parts: urllib.parse.SplitResult) -> str:
        """``user:password`` from the URL, an index of the same host, or ``~/.netrc``; empty for none."""
        host = parts.hostname or ""
        found = _password_in(parts) or dict(self.passwords).get(host, "")
        return found if found or parts.scheme == "file" else _netrc_password(host)


def passwords_in(urls: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(host, ``user:password``) of each URL that holds credentials."""
    split = [urllib.parse.urlsplit(url) for url in urls]
    return tuple((parts.hostname or "", _password_in(parts)) for parts in split if parts.username is not None)


def redacted(url: str) -> str:
    """The URL without credentials."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _password_in(parts: urllib.parse.SplitResult) -> str:
    if parts.username is None:
        return ""
    return f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"


def _netrc_password(host: str) -> str:
    try:
        found = netrc.netrc().authenticators(host)
    except (netrc.NetrcParseError, OSError):
        return ""  # as pip does: none, or a broken one, is no reason to fail a public index
    return f"{found[0]}:{found[2]}" if found else ""
