"""Requests that no page of ours sends: wrong types, forged ids, broken JSON, odd paths and odd addresses.

Entry points: `well_formed` (what the pages do send, to be changed) and `requests`. Seeded.
"""

from __future__ import annotations

import copy
import json
import random
import string
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

UPDATE = "/_dash-update-component"
JSON = {"Content-Type": "application/json"}
NASTY: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2.5,
    1e308,
    -1e308,
    1e-320,
    float("nan"),
    float("inf"),
    -float("inf"),
    10**18,
    10**400,
    -(10**400),
    2**31,
    2**63,
    "",
    " ",
    "0",
    "-1",
    "1e999",
    "nan",
    "x" * 5_000,
    "\0",
    "\ud800",
    "\u202e",
    "é" * 300,
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "'; DROP TABLE runs; --",
    "{{7*7}}",
    "%00",
    "${jndi:ldap://x}",
    "builtin:",
    "builtin:nowhere",
    "upload:",
    "upload:../../secret-key",
    "upload:AAAAAAAAAAAAAAAAAAAAAA",
    "pca:9",
    "column:999999",
    "column:-1",
    "column:x",
    "pca",
    [],
    {},
    [None],
    [[]],
    [0] * 500,
    ["a", 1, None],
    {"a": 1},
    {"id": None},
    {"id": {"id": 1}},
    {"id": "x", "query": 7},
    {"query": {"data": 1}},
    {"indices": "all"},
    {"indices": [10**30, -1, "x", None, 1e300], "active": 10**30, "auto": False},
    {"indices": [{}], "auto": "yes"},
    {"id": "x" * 9_000, "query": {"k": "9" * 5_000}},
    {"sigmas": 5},
    {"id": "", "sigmas": [None] * 50, "version": 9},
    {"__proto__": {}, "constructor": "x"},
    {"$in": []},
    {"_dashprivate_": 1},
    [{"props": {}, "type": "Div"}],
]
QUERIES = (
    "data",
    "k",
    "columns",
    "label",
    "missing",
    "scaling",
    "method",
    "depths",
    "start",
    "init",
    "n_init",
    "seed",
    "limiting",
    "max_steps",
    "run",
    "select",
    "self",
    "query",
    "services",
    "kernel",
    "_",
)
PATHS = ("/", "/experiments", "/learn", "/nowhere", "/_pages", "/healthz", "/readyz", "/metrics", "/favicon.ico")
FILES = (
    "/_dash-component-suites/dash/../../../etc/passwd",
    "/_dash-component-suites/dash/%2e%2e/%2e%2e/app.py",
    "/_dash-component-suites/os/path",
    "/_dash-component-suites/services/settings.py",
    "/_dash-component-suites/plotly/",
    "/_dash-component-suites/dash/dcc/async-graph.js.map",
    "/_dash-component-suites/app/secret",
    "/assets/../app.py",
    "/assets/%2e%2e%2fapp.py",
    "/assets/..%5capp.py",
    "/assets//etc/passwd",
    "/assets/%00",
    "/static/x",
    "/.git/config",
    "/.env",
    "//etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/_dash-layout/x",
    "/_dash-layout?x=%ff",
    "/_reload-hash",
    "/_dash-dependencies?" + "a=1&" * 2_000,
    "/" + "a" * 8_000,
    "/%ff%fe",
    "/\\..\\..\\x",
    "/_favicon.ico?../",
)


class Request(NamedTuple):
    """A request, and what is wrong with it."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]
    what: str


def well_formed(dependencies: list[dict[str, Any]], values: dict[tuple[str, str], Any]) -> list[dict[str, Any]]:
    """Return an update for each callback of the server, with the values that a fresh page holds."""
    bodies = []
    for callback in dependencies:
        if callback.get("clientside_function"):
            continue
        items = {
            kind: [
                {"id": one["id"], "property": one["property"], "value": values.get((one["id"], one["property"]))}
                for one in callback[kind]
                if not one["id"].startswith("{")
            ]
            for kind in ("inputs", "state")
        }
        changed = items["inputs"][:1]
        bodies.append(
            {
                "output": callback["output"],
                "outputs": outputs_of(callback["output"]),
                **items,
                "changedPropIds": [f"{one['id']}.{one['property']}" for one in changed],
                "parsedChangedPropsIds": [one["id"] for one in changed],
            }
        )
    return bodies


def outputs_of(output: str) -> Any:
    """Return the outputs as Dash's renderer names them."""
    if output.startswith(".."):
        return [outputs_of(one) for one in output[2:-2].split("...")]
    component, _, name = output.rpartition(".")
    return {"id": component, "property": name}


def values_in(tree: Any) -> dict[tuple[str, str], Any]:
    """Return the properties of every component in a page, by id."""
    found: dict[tuple[str, str], Any] = {}
    if isinstance(tree, list):
        for one in tree:
            found |= values_in(one)
    elif isinstance(tree, dict):
        props = tree.get("props")
        if isinstance(props, dict):
            if isinstance(props.get("id"), str):
                found |= {(props["id"], name): value for name, value in props.items()}
            tree = props
        for value in tree.values():
            found |= values_in(value)
    return found


def requests(seed: int, count: int, bodies: list[dict[str, Any]]) -> Iterator[Request]:
    """Yield requests of all kinds, the well-formed ones first, as they are."""
    for body in bodies[:count]:
        yield update(body, "nothing")
    rng = random.Random(seed)
    makers = (
        _values,
        _values,
        _values,
        _values,
        _deep,
        _keys,
        _outputs,
        _items,
        _text,
        _handles,
        _pages,
        _pages,
        _paths,
    )
    for _ in range(count - len(bodies)):
        yield rng.choice(makers)(rng, copy.deepcopy(rng.choice(bodies)))


def update(body: Any, what: str, query: str = "") -> Request:
    return Request("POST", UPDATE + query, json.dumps(body).encode(), JSON, what)


def _values(rng: random.Random, body: dict[str, Any]) -> Request:
    items = body["inputs"] + body["state"]
    told = []
    for _ in range(rng.choice([1, 1, 2, 5])):
        if items:
            item = rng.choice(items)
            item["value"] = _nasty(rng)
            told.append(f"{item['id']}.{item['property']} = {item['value']!r:.60}")
    body["changedPropIds"] = [
        f"{one['id']}.{one['property']}" for one in rng.sample(body["inputs"], min(1, len(body["inputs"])))
    ]
    return update(body, "; ".join(told))


def _nasty(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.8:
        return copy.deepcopy(rng.choice(NASTY))
    if kind < 0.9:
        return "".join(rng.choices(string.printable, k=rng.randint(1, 30)))
    return rng.choice(["data:;base64,", "data:text/csv;base64,", "", "data:"]) + rng.choice(
        ["AAAA", "YSxiCjEsMgozLDQK", "====", "é", "A" * 100_001, "_-_-"]
    )


def _deep(rng: random.Random, body: dict[str, Any]) -> Request:
    """Change something anywhere inside."""
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in node if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    walk(body)
    for node, key in rng.sample(places, min(len(places), rng.choice([1, 1, 3]))):
        node[key] = _nasty(rng)
    return update(body, "a change inside")


def _keys(rng: random.Random, body: dict[str, Any]) -> Request:
    key = rng.choice([*body, "background"])
    if rng.random() < 0.5:
        body.pop(key, None)
        return update(body, f"no {key}")
    body[key] = _nasty(rng)
    return update(body, f"{key} = {body[key]!r:.60}")


def _outputs(rng: random.Random, body: dict[str, Any]) -> Request:
    wild = [
        "x.children",
        "..x.children...y.data..",
        "....",
        "..",
        ".",
        "provider.id",
        "run.data",
        '{"type":"*"}.value',
        "scheme.data",
        "path-graph.figure",
        body["output"][:-1],
        body["output"] * 3,
        "__class__.__init__",
    ]
    which = rng.random()
    if which < 0.5:
        body["output"] = rng.choice(wild)
        body["outputs"] = rng.choice([body["outputs"], outputs_of(body["output"]) if "." in body["output"] else None])
    elif which < 0.75 and isinstance(body["outputs"], list):
        rng.choice([body["outputs"].reverse, body["outputs"].pop, lambda: body["outputs"].append({})])()
    else:
        body["outputs"] = rng.choice([None, [], {}, "x", [body["outputs"]] * 3, {"id": "x", "property": "y"}])
    return update(body, "other outputs")


def _items(rng: random.Random, body: dict[str, Any]) -> Request:
    kind = rng.choice(["inputs", "state"])
    items = body[kind]
    changes = [
        items.reverse,
        lambda: items.append(None),
        lambda: items.append({}),
        lambda: items.append([]),
        lambda: items.append({"id": {}, "property": [], "value": 1}),
        items.clear,
        lambda: items.extend(items * 50),
    ]
    rng.choice(changes)()
    if items and rng.random() < 0.5:
        items[rng.randrange(len(items))] = rng.choice([None, [], "x", 7, {"id": 1}, {"property": "value"}, [[]], [{}]])
    return update(body, f"other {kind}")


def _text(rng: random.Random, body: dict[str, Any]) -> Request:
    text = json.dumps(body).encode()
    bodies = [
        text[: rng.randrange(len(text))],
        b"",
        b"null",
        b"[]",
        b"7",
        b'"x"',
        b"{",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        text + text,
        text.replace(b":", b"=", 3),
        rng.randbytes(200),
        b"\xff\xfe" + text,
        text.decode().encode("utf-16"),
        b"{" + b'"a":1,' * 300_000 + b'"b":1}',
        b'{"output":' + b"9" * 100_000 + b"}",
        text.replace(b'"', b"'"),
        b'{"output":"run.data","output":[],"inputs":{},"state":7}',
        b"\0" * 1000,
    ]
    kinds = [
        "application/json",
        "text/plain",
        "",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=utf-7",
        "application/json; charset=nowhere",
        "application/xml",
    ]
    headers = {"Content-Type": rng.choice([kinds[0], kinds[0], *kinds])}
    if rng.random() < 0.1:
        headers["Content-Encoding"] = "gzip"
    method = rng.choice(["POST"] * 8 + ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
    return Request(method, UPDATE, rng.choice([text, *bodies]), headers, "other text")


def _handles(rng: random.Random, body: dict[str, Any]) -> Request:
    names = ("cacheKey", "job", "oldJob", "endId", "cancelJob", "pageLoadId")
    values = ["1", "x~y", "~", "1~" + "0" * 64, "é~é", "%00", "x" * 3_000, "../../x", "-1", "[]"]
    query = "&".join(f"{rng.choice(names)}={quote(rng.choice(values))}" for _ in range(rng.randint(1, 4)))
    return update(body, f"handles {query[:60]}", f"?{query}")


def _pages(rng: random.Random, body: dict[str, Any]) -> Request:
    parts = [f"{rng.choice(QUERIES)}={quote(_word(rng))}" for _ in range(rng.randint(0, 6))]
    if rng.random() < 0.5:
        parts = ["data=builtin:flame", "k=2", *parts]
    search = "?" + rng.choice(["&", "&", ";", "&&"]).join(parts)
    path = rng.choice(PATHS)
    if rng.random() < 0.4:
        return Request("GET", path + search, b"", {}, "an address")
    page = {"id": "_pages_location", "property": "pathname", "value": path}
    query = {"id": "_pages_location", "property": "search", "value": search}
    output = ".._pages_content.children..._pages_store.data.."
    whole = {"output": output, "outputs": outputs_of(output), "inputs": [page, query], "state": []}
    return update({**whole, "changedPropIds": ["_pages_location.search"]}, f"the page {path}{search[:80]}")


def _word(rng: random.Random) -> str:
    word = rng.choice(NASTY)
    if isinstance(word, str):
        return word.encode("utf-8", "replace").decode()
    if rng.random() < 0.3:
        return rng.choice(["-1", "1,2", "1,,2", "999999999999", '["x"]', "[1]", "[", "certified", "0", "1e400", "٣"])
    return json.dumps(word) if not isinstance(word, int) else str(word)[:500]


def _paths(rng: random.Random, body: dict[str, Any]) -> Request:
    headers = rng.choice(
        [
            {},
            {"Cookie": "offgrid-scheme=" + "x" * 3_000},
            {"Cookie": "session=.eJx; offgrid-narrow=\xff"},
            {"X-Forwarded-Proto": "https"},
            {"X-Forwarded-For": "' OR 1=1"},
            {"If-None-Match": "*"},
            {"Range": "bytes=0-0,5-2,-1"},
            {"Host": "elsewhere.example"},
            {"Accept-Encoding": "gzip;q=x"},
        ]
    )
    return Request(
        rng.choice(["GET", "GET", "GET", "HEAD", "POST", "OPTIONS"]), rng.choice(FILES), b"", headers, "a path"
    )
