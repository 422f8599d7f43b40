"""The dashboard's files: who gets them, how they may be kept, and what a browser may do with them."""

from __future__ import annotations

import re

import pytest
from msgspec import Struct
from msgspec.structs import fields
from service_client import Running

from rankloop.service import view_messages
from rankloop.service.dashboard.static_files import PAGE, assets


def test_the_page_needs_no_key_and_holds_no_data(on_sqlite: Running) -> None:
    answer = on_sqlite.client(None).get("/")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert "<title>rankloop</title>" in answer.text
    assert "shop.db" not in answer.text


def test_every_file_that_the_page_names_is_there_and_kept(on_sqlite: Running) -> None:
    client = on_sqlite.client(None)
    named = re.findall(r'(?:src|href)="(/dashboard/[^"]+)"', client.get("/").text)
    assert len(named) >= 4
    for path in named:
        answer = client.get(path)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["cache-control"]
    name = named[0].rpartition("/")[2]
    older = client.get(f"/dashboard/0123456789ab/{name}")  # a page from before the service was renewed
    assert (older.status_code, older.headers["cache-control"]) == (200, "no-cache")


def test_scripts_name_files_that_are_there() -> None:
    _, content = assets()
    for name, text in content.items():
        for imported in re.findall(rb'from "\./([^"]+)"', text):
            assert imported.decode() in content, name


def test_pages_read_every_field_of_their_answers() -> None:
    """What no script names is not sent."""
    _, content = assets()
    scripts = b"\n".join(text for name, text in content.items() if name.endswith(".js")).decode()
    structs = [each for each in vars(view_messages).values() if isinstance(each, type) and issubclass(each, Struct)]
    named = {(struct.__name__, field.encode_name) for struct in structs for field in fields(struct)}
    assert len(named) > 100
    assert not {(struct, field) for struct, field in named if not re.search(rf"\b{field}\b", scripts)}


def test_nothing_may_come_from_elsewhere(on_sqlite: Running) -> None:
    """One policy is sent, and no file has a script or style inside, or an address of another host."""
    policies = on_sqlite.client(None).get("/").headers.get_list("content-security-policy")
    assert len(policies) == 1
    assert "script-src 'self'" in policies[0]
    assert "unsafe" not in policies[0]
    _, content = assets()
    assert not re.search(rb"<style|<script(?! (type=\"module\" )?src=)|\son[a-z]+=|\sstyle=", content[PAGE])
    for name, text in content.items():
        found = set(re.findall(rb"https?://[^\s\"'`)]+", text)) - {b"http://www.w3.org/2000/svg"}
        assert not found, name
        assert b"innerHTML" not in text, name
        assert b"insertAdjacentHTML" not in text, name


def test_all_files_together_are_small() -> None:
    _, content = assets()
    assert sum(map(len, content.values())) < 150_000


@pytest.mark.parametrize(
    "name", ["serving.py", "../serving.py", "..%2fserving.py", "..%2f..%2fkeys.py", "%2fetc%2fpasswd", "index.html", ""]
)
def test_no_other_file_can_be_had(on_sqlite: Running, name: str) -> None:
    version, _ = assets()
    for start in (f"/dashboard/{version}/", "/dashboard/"):
        answer = on_sqlite.client(None).get(start + name)
        assert answer.status_code == 404, name
        assert b"import" not in answer.content


def test_a_page_of_another_site_can_change_nothing(on_sqlite: Running) -> None:
    """Even with the key: browsers say where a request comes from, in a header that no page can set."""
    on_sqlite.admin.put("/v1/loops/search", json={"kind": "rerank"})
    for site, status in (("cross-site", 403), ("same-origin", 200), ("same-site", 200), ("none", 200)):
        answer = on_sqlite.admin.post("/v1/loops/search/pause", headers={"Sec-Fetch-Site": site})
        assert answer.status_code == status, site
        assert on_sqlite.admin.get("/v1/loops/search", headers={"Sec-Fetch-Site": site}).status_code == 200
    assert "pages of other sites" in on_sqlite.admin.put(
        "/v1/loops/evil", json={"kind": "rerank"}, headers={"Sec-Fetch-Site": "cross-site"}
    ).json()["detail"]  # fmt: skip
    assert on_sqlite.service.live.loops == ("search",)


def test_a_browser_of_another_site_may_still_tell_of_events(on_sqlite: Running) -> None:
    on_sqlite.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
    shown = on_sqlite.admin.post("/v1/loops/search/rank", json={"key": "laptop", "items": ["a", "b"]}).json()
    key = on_sqlite.key("events", origins=["https://shop.example"])
    headers = {"Origin": "https://shop.example", "Sec-Fetch-Site": "cross-site"}
    click = {"impression": shown["id"], "item": "a"}
    assert on_sqlite.client(key, **headers).post("/v1/events", json=click).json() == {"fate": "accepted"}


def test_a_key_learns_what_it_may_do(on_sqlite: Running) -> None:
    on_sqlite.admin.put("/v1/loops/search", json={"kind": "rerank"})
    told = on_sqlite.holding("read", loops=["search"], expires="90d").get("/v1/key").json()
    assert (told["role"], told["loops"], told["read_only"]) == ("read", ["search"], False)
    assert told["expires"] > 0
    assert on_sqlite.admin.get("/v1/key").json()["role"] == "admin"
    assert on_sqlite.holding("rank").get("/v1/key").status_code == 403
    assert on_sqlite.client(None).get("/v1/key").status_code == 401
