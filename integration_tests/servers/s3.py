"""An S3 endpoint on loopback, of the package moto, which counts what it is asked.

`python -m integration_tests.servers.s3` runs one until Ctrl-C, and says what to write into a
profile.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from pyspark.find_spark_home import _find_spark_home
from werkzeug.serving import WSGIRequestHandler, make_server

from integration_tests.servers.programs import HOST, stay

BUCKET = "lake"
_KEY = "testing"

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


@dataclass
class Requests:
    """What an endpoint was asked since the last look.

    Attributes:
        kinds: How often, by kind: LIST, GET, HEAD, PUT, DELETE.
        paths: The same by kind and path.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    paths: Counter[tuple[str, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, method: str, path: str, query: str) -> None:
        """Take a request."""
        asked = parse_qs(query, keep_blank_values=True)
        kind = method
        if method == "GET" and ("list-type" in asked or "prefix" in asked):
            kind, path = "LIST", asked.get("prefix", [""])[0]
        elif method == "POST":
            kind = "DELETE" if "delete" in asked else "PUT"
        with self._lock:
            self.kinds[kind] += 1
            self.paths[kind, path] += 1

    def taken(self) -> Requests:
        """What was asked until now; counted from nothing again."""
        with self._lock:
            found = Requests(self.kinds, self.paths)
            self.kinds, self.paths = Counter(), Counter()
        return found


class _Quiet(WSGIRequestHandler):
    """Without a line for each request; connections stay, as those to S3 do."""

    protocol_version = "HTTP/1.1"

    def log(self, *_: object) -> None:
        pass


@contextmanager
def running() -> Generator[tuple[dict[str, str], Requests]]:
    """Run an endpoint with an empty bucket, in this process.

    Yields:
        Spark's settings, with which its warehouse is there, and what the endpoint is asked.
    """
    requests = Requests()
    backend: Wsgi = DomainDispatcherApplication(create_backend_app)

    def counted(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        requests.count(method, path, environ.get("QUERY_STRING", ""))
        return backend(environ, start)

    server = make_server(HOST, 0, counted, threaded=True, request_handler=_Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://{HOST}:{server.server_port}"
    try:
        login = {"aws_access_key_id": _KEY, "aws_secret_access_key": _KEY}
        client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **login)
        client.create_bucket(Bucket=BUCKET)
        requests.taken()
        yield settings(endpoint), requests
    finally:
        server.shutdown()


def settings(endpoint: str) -> dict[str, str]:
    """Spark's settings for a warehouse in the bucket of an endpoint."""
    s3a = "spark.hadoop.fs.s3a."
    return {
        "spark.jars.packages": f"org.apache.hadoop:hadoop-aws:{hadoop()}",
        "spark.sql.warehouse.dir": f"s3a://{BUCKET}/warehouse",
        f"{s3a}endpoint": endpoint,
        f"{s3a}endpoint.region": "us-east-1",
        f"{s3a}access.key": _KEY,
        f"{s3a}secret.key": _KEY,
        f"{s3a}path.style.access": "true",
        f"{s3a}connection.ssl.enabled": "false",
    }


def hadoop() -> str:
    """The version of Hadoop that the installed PySpark has, which hadoop-aws must be of."""
    (jar,) = (Path(_find_spark_home()) / "jars").glob("hadoop-client-api-*.jar")
    return jar.stem.rpartition("-")[2]


if __name__ == "__main__":
    print(f"moto {version('moto')}")
    with running() as (told, _):
        print("server_side_parameters:", *(f"  {k}: {v}" for k, v in told.items()), sep="\n")
        stay()
