"""Workers that share a store, in one process: who answers what, and what happens when they come, go and are cut off."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from postgres_server import Server
from prometheus_client.parser import text_string_to_metric_families
from service_client import ADMIN, Running, served

import rankloop as rl
from rankloop.live import Whole
from rankloop.live.directory import Directory, Worker
from rankloop.live.partition_ids import mark_of, partition_named, partition_of
from rankloop.live.postgres import PostgresStore
from rankloop.service.fleet import fleet
from rankloop.service.fleet.fleet import Fleet
from rankloop.service.fleet.launch import prepare
from rankloop.service.limits import Limits
from rankloop.service.service import Service

ITEMS = ["a", "b", "c", "d"]
PARTITIONS = 6
LIMITS = Limits(guesses=0.0, browser_rate=0.0, patience=30.0)
LEASE = 3.0
SECONDS = 60.0


def eventually(so: Callable[[], Any]) -> Any:
    """What a function gives once it gives something."""
    until = time.monotonic() + SECONDS
    while not (found := so()):
        assert time.monotonic() < until, "it does not come to that"
        time.sleep(0.02)
    return found


@contextmanager
def worker(url: str, name: str, *, machine: str = "m", **options: Any) -> Iterator[Running]:
    workers = Fleet(url, admin=ADMIN, machine=machine, name=f"host:80/{name}", lease=LEASE, workers=2, **options)
    with served(url, limits=LIMITS, workers=workers) as running:
        yield running


def owned(running: Running) -> set[int]:
    return {part.number for part in running.service.partitions if part.held}


def balanced(*workers: Running) -> bool:
    """Whether all partitions are held, by each of some workers as many as by the others."""
    held = [owned(each) for each in workers]
    sizes = [len(each) for each in held]
    return sum(sizes) == len(set().union(*held)) == PARTITIONS and max(sizes) - min(sizes) <= 1


@pytest.fixture(scope="module")
def store(postgres: Server) -> str:
    url = postgres.empty_database("fleet")
    directory = Directory(url, partitions=PARTITIONS)
    directory.open()
    directory.close()
    return url


@pytest.fixture(scope="module")
def pair(store: str) -> Iterator[tuple[Running, Running]]:
    """Two workers, and a loop that the first was told of."""
    with worker(store, "one") as one, worker(store, "two") as two:
        eventually(lambda: balanced(one, two))
        answer = one.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
        assert answer.status_code == 201, answer.text
        yield one, two


def keys_of(running: Running, loop: str = "search") -> list[str]:
    """Keys that a worker owns."""
    return [f"key {n}" for n in range(200) if partition_of(loop, f"key {n}", PARTITIONS) in owned(running)]


def rank(running: Running, key: str, loop: str = "search") -> dict[str, Any]:
    answer = running.admin.post(f"/v1/loops/{loop}/rank", json={"key": key, "items": ITEMS})
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    assert not shown.get("fallback"), shown
    return shown


def test_any_worker_answers_for_any_key(pair: tuple[Running, Running]) -> None:
    one, two = pair
    for asked, owner in ((one, one), (one, two), (two, one), (two, two)):
        key = keys_of(owner)[0]
        before = asked.admin.get("/v1/loops/search").json()["status"]["clicks"]
        shown = rank(asked, key)
        for other in pair:
            event = {"impression": shown["id"], "item": "b"}
            fate = other.admin.post("/v1/events", json=event).json()
            assert fate == {"fate": "accepted" if other is one else "duplicate"}
            known = other.admin.get(f"/v1/loops/search/keys/{key}").json()
            assert sorted(known["best"]) == ITEMS
            assert other.admin.get(f"/v1/impressions/{shown['id']}").json()["key"] == key
        after = two.admin.get("/v1/loops/search").json()["status"]["clicks"]
        assert after == before + 1


def test_ids_name_their_partition(pair: tuple[Running, Running], store: str) -> None:
    one, two = pair
    with Whole(store) as whole:
        mark = whole.lives[0].mark
    for key in (*keys_of(one)[:5], *keys_of(two)[:5]):
        id_ = rank(one, key)["id"]
        assert partition_named(id_, mark, PARTITIONS) == partition_of("search", key, PARTITIONS)
    assert len({mark_of(mark, number) for number in range(1_024)}) == 1_024


def test_a_batch_is_split_and_joined_in_order(pair: tuple[Running, Running]) -> None:
    one, two = pair
    ids = [rank(one, key)["id"] for both in zip(keys_of(one)[:10], keys_of(two)[:10], strict=True) for key in both]
    events: list[Any] = [{"impression": id_, "item": "b"} for id_ in ids]
    events[3:3] = [{"impression": "no id", "item": "b"}, "no event", {"impression": ids[0], "item": "not there"}]
    events.append(events[-1])
    heard = two.admin.post("/v1/events", json=events).json()["events"]
    fates = [each["fate"] for each in heard]
    assert fates == ["accepted"] * 3 + ["unknown", "invalid", "invalid"] + ["accepted"] * 17 + ["duplicate"]
    assert "was not shown" in heard[5]["reason"]


def test_problems_come_from_the_owner_as_they_are(pair: tuple[Running, Running]) -> None:
    one, two = pair
    key = keys_of(two)[-1]
    answer = one.admin.get(f"/v1/loops/search/keys/{key}")
    assert answer.status_code == 404
    assert "has not been asked for" in answer.json()["detail"]
    answer = one.admin.post("/v1/loops/search/rank", json={"key": key, "items": ["a", "a"]})
    assert (answer.status_code, answer.json()["field"]) == (422, "items")
    assert one.admin.post("/v1/loops/nowhere/rank", json={"key": key, "items": ITEMS}).status_code == 404


def test_tenants_stay_apart_over_workers(pair: tuple[Running, Running]) -> None:
    one, two = pair
    one.admin.put("/v1/loops/other", json={"kind": "rerank", "holdout": 0})
    tenant = one.key("events", loops=["other"])
    id_ = rank(one, keys_of(two)[0])["id"]
    for running in pair:
        client = running.client(tenant)
        eventually(
            lambda client=client: client.post("/v1/events", json=[]).status_code == 200
        )  # known within 2 seconds
        assert client.post("/v1/events", json={"impression": id_, "item": "b"}).json() == {"fate": "unknown"}


def test_settings_reach_all_partitions(pair: tuple[Running, Running], store: str) -> None:
    one, two = pair
    made = two.admin.put("/v1/loops/later", json={"kind": "rerank", "holdout": 0, "traffic": 0.5})
    assert made.status_code == 201, made.text
    again = one.admin.put("/v1/loops/later", json={"kind": "rerank", "holdout": 0, "traffic": 1.0})
    assert again.status_code == 200, again.text
    assert one.admin.put("/v1/loops/later", json={"kind": "rerank", "holdout": 0.5}).status_code == 409
    two.admin.post("/v1/loops/later/pause")
    for running in pair:
        for part in running.service.partitions:
            settings = part.live.settings("later")
            assert (settings.traffic, settings.paused) == (1.0, True)
    for both in pair:
        for key in (*keys_of(one, "later")[:2], *keys_of(two, "later")[:2]):
            assert rank(both, key, "later")["arm"] == "off"
    one.admin.post("/v1/loops/later/resume")
    numbers = {part.live._loops.by_name["later"].number for running in pair for part in running.service.partitions}
    seeds = {part.live.settings("later").seed for running in pair for part in running.service.partitions}
    assert (len(numbers), len(seeds)) == (1, PARTITIONS)


def test_catalogues_reach_all_partitions(pair: tuple[Running, Running]) -> None:
    one, two = pair
    one.admin.put("/v1/loops/home", json={"kind": "diversify", "relevance": 2, "topics": ["x", "y"], "holdout": 0})
    items = {name: {"relevance": [0.1 * n, 0.5], "topics": [n % 2, 1 - n % 2]} for n, name in enumerate(ITEMS)}
    answer = two.admin.put("/v1/loops/home/items", json={"items": items})
    assert answer.status_code == 200, answer.text
    for asked in pair:
        for key in (*keys_of(one, "home")[:2], *keys_of(two, "home")[:2]):
            assert sorted(rank(asked, key, "home")["items"]) == ITEMS


def test_a_duel_is_interleaved_where_it_began(pair: tuple[Running, Running]) -> None:
    one, two = pair
    one.admin.put("/v1/loops/rankers", json={"kind": "evaluate", "rankers": ["x", "y", "z"]})
    for asked in pair:
        duel = asked.admin.post("/v1/loops/rankers/duel", json={}).json()
        lists = dict.fromkeys(duel["rankers"], ITEMS)
        for other in pair:
            page = other.admin.post(
                "/v1/loops/rankers/interleave", json={"duel": duel["id"], "lists": lists, "positions": 2}
            )
            assert page.status_code == 200, page.text
    status = two.admin.get("/v1/loops/rankers").json()["status"]
    assert status["impressions"] == 2
    assert status["best"] in ("x", "y", "z")


def test_a_status_is_the_sum_of_all_partitions(pair: tuple[Running, Running], store: str) -> None:
    one, two = pair
    parts = [part.live.status("search") for running in pair for part in running.service.partitions]
    status = one.admin.get("/v1/loops/search").json()["status"]
    for word in ("keys", "impressions", "clicks", "open", "duplicates"):
        assert status[word] == sum(part[word] for part in parts) > 0, word
    listed = {each["loop"]: each["status"] for each in two.admin.get("/v1/loops").json()["loops"]}
    assert listed["search"]["impressions"] == status["impressions"]
    with Whole(store) as whole:
        assert whole.status("search")["impressions"] == status["impressions"]
        assert set(whole.loops) == set(listed)


def test_uplift_is_that_of_all_users(pair: tuple[Running, Running]) -> None:
    """A user may be seen in several partitions: buckets are added before anything is computed from them."""
    one, two = pair
    one.admin.put("/v1/loops/compared", json={"kind": "rerank", "holdout": 0.3})
    wanted = [0, 0]
    for number in range(40):
        key = (keys_of(one, "compared") + keys_of(two, "compared"))[number % 7]
        body = {"key": key, "items": ITEMS, "user": f"user {number % 20}"}
        shown = one.admin.post("/v1/loops/compared/rank", json=body).json()
        wanted[shown["arm"] == "holdout"] += 1
        two.admin.post("/v1/events", json={"impression": shown["id"], "type": "finish"})
    uplift = two.admin.get("/v1/loops/compared").json()["status"]["uplift"]
    assert uplift["impressions"] == wanted
    assert min(wanted) > 0


def test_access_keys_are_everybodys(pair: tuple[Running, Running]) -> None:
    one, two = pair
    made = one.admin.post("/v1/keys", json={"role": "read"}).json()
    reader = two.client(made["key"])
    eventually(lambda: reader.get("/v1/loops").status_code == 200)
    two.admin.delete(f"/v1/keys/{made['info']['id']}")
    assert reader.get("/v1/loops").status_code == 401
    other = one.client(made["key"])
    eventually(lambda: other.get("/v1/loops").status_code == 401)


def owned_by_metrics(running: Running) -> dict[str, float]:
    """Partitions by worker, as one scrape tells."""
    found = {family.name: family for family in text_string_to_metric_families(running.admin.get("/metrics").text)}
    assert {sample.value for sample in found["rankloop_partitions"].samples} == {PARTITIONS}
    return {sample.labels["worker"]: sample.value for sample in found["rankloop_partitions_owned"].samples}


def test_metrics_are_of_all_workers_of_a_machine(pair: tuple[Running, Running], store: str) -> None:
    """So a sum over machines counts each worker once. What loops have counted is that of the whole store."""
    one, two = pair
    assert owned_by_metrics(one) == owned_by_metrics(two) == {"host:80/one": 3, "host:80/two": 3}
    with worker(store, "one", machine="other") as three:
        eventually(lambda: balanced(one, two, three))
        assert owned_by_metrics(one) == {"host:80/one": 2, "host:80/two": 2}
        assert owned_by_metrics(three) == {"host:80/one": 2}
        wanted = sum(
            part.live.status("search")["clicks"] for each in (*pair, three) for part in each.service.partitions
        )
        for each in (one, three):
            assert f'rankloop_clicks_total{{loop="search"}} {wanted}\n' in each.admin.get("/metrics").text
    eventually(lambda: balanced(one, two))


def test_workers_come_and_go(pair: tuple[Running, Running], store: str) -> None:
    one, two = pair
    keys = keys_of(one)[:5] + keys_of(two)[:5]
    ids = [rank(one, key)["id"] for key in keys]
    with worker(store, "three") as three:
        eventually(lambda: balanced(one, two, three))
        for id_ in ids:
            assert three.admin.post("/v1/events", json={"impression": id_, "item": "c"}).json() == {"fate": "accepted"}
        taken = keys_of(three)[0]
        assert rank(two, taken)["arm"] == "policy"
    eventually(lambda: balanced(one, two))
    for id_ in ids:
        assert one.admin.post("/v1/events", json={"impression": id_, "item": "c"}).json() == {"fate": "duplicate"}
    with Whole(store) as whole:
        found = whole.verify()
        assert found.ok, found.differences
        assert whole.explain(ids[0]).key == keys[0]


def test_a_lease_that_was_taken(pair: tuple[Running, Running], store: str, postgres: Server) -> None:
    """A worker that was cut off and replaced finds out, writes nothing more, and takes its share again."""
    one, two = pair
    number = min(owned(one))
    epoch = "SELECT epoch FROM rankloop.partitions WHERE partition = %s"
    before = postgres.sql(epoch, number, url=store)[0][0]
    part = one.service.partitions.owned[number]
    shown = rank(one, next(key for key in keys_of(one) if partition_of("search", key, PARTITIONS) == number))
    postgres.sql(
        "UPDATE rankloop.partitions SET owner = 'x:1:y', worker = 'x', epoch = epoch + 1, "
        "expires = now() + interval '1 s' WHERE partition = %s", number, url=store,
    )  # fmt: skip
    eventually(lambda: one.service.partitions.owned.get(number) is not part)
    eventually(lambda: balanced(one, two))
    assert postgres.sql(epoch, number, url=store)[0][0] == before + 2
    assert part.live.over
    event = {"impression": shown["id"], "item": "d"}
    assert two.admin.post("/v1/events", json=event).json() == {"fate": "accepted"}


def test_a_request_is_passed_on_once(pair: tuple[Running, Running]) -> None:
    """A worker that gets a request from another and does not own the partition either says so."""
    from rankloop.service.keys import Key
    from rankloop.service.owned_partitions import Elsewhere
    from rankloop.service.request import Request
    from rankloop.service.routes import BY_NAME

    one, two = pair
    body = b'{"key": "%s", "items": ["a", "b"]}' % keys_of(two)[0].encode()
    request = Request({"loop": "search"}, body, Key("", "admin", b""), "1", forwarded=True)
    handling = BY_NAME["rank"].handler(one.service, request)
    with pytest.raises(Elsewhere):
        handling.send(None)


def test_an_owner_that_hangs(pair: tuple[Running, Running], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists are production's after a moment; events are told to come again."""
    one, two = pair
    key = keys_of(two)[0]
    id_ = rank(one, key)["id"]
    monkeypatch.setattr(fleet, "HOLD", 0.3)
    quick = Limits(guesses=0.0, browser_rate=0.0, patience=0.2)
    monkeypatch.setattr(one.service, "limits", quick)

    async def silence(*_: Any, **__: Any) -> Any:
        raise TimeoutError

    for peer in one.service.workers._peers.values():  # type: ignore[union-attr]
        monkeypatch.setattr(peer, "ask", silence)
    answer = one.admin.post("/v1/loops/search/rank", json={"key": key, "items": ITEMS, "pinned": {"0": "ad"}}).json()
    assert (answer["items"], answer["fallback"]) == (["ad", *ITEMS], True)
    answer = one.admin.post("/v1/events", json={"impression": id_, "item": "a"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    monkeypatch.undo()
    assert one.admin.post("/v1/events", json={"impression": id_, "item": "a"}).json() == {"fate": "accepted"}


def test_a_worker_that_others_cannot_reach(pair: tuple[Running, Running], store: str) -> None:
    """Its address is one of its own machine alone, and others are elsewhere."""
    made = Fleet(store, admin=ADMIN, machine="other", name="elsewhere:80/0", lease=LEASE)
    service = Service(store, admin=ADMIN, limits=LIMITS, workers=made)
    with pytest.raises(rl.live.StoreError, match=r"is on another machine, and cannot reach this one at 127\.0\.0\.1"):
        asyncio.run(service.open())
    directory = Directory(store)
    directory.open()
    try:
        assert made.id not in directory.look(None, 60.0).workers
    finally:
        directory.close()


def test_workers_that_turn_out_to_be_elsewhere(
    pair: tuple[Running, Running], store: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The log of those that were there before says so: no worker ends by itself because of another."""
    caplog.set_level(logging.ERROR, logger="rankloop.service")
    me = Worker("other-1", "elsewhere:80/0", "10.255.255.1:9000")
    directory = Directory(store)
    directory.open()
    try:
        directory.look(me, LEASE)
        eventually(lambda: "elsewhere:80/0 at 10.255.255.1:9000 are on two machines" in caplog.text)
    finally:
        directory.leave(me.id)
        directory.close()
    assert "with --peer-host" in caplog.text
    eventually(lambda: balanced(*pair))


def test_a_port_for_other_workers_that_is_taken(store: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        made = Fleet(store, admin=ADMIN, name="host:80/0", lease=LEASE, peer_port=port)
        service = Service(store, admin=ADMIN, limits=LIMITS, workers=made)
        with pytest.raises(rl.live.StoreError, match=f"on 127.0.0.1 port {port} .*--peer-port"):
            asyncio.run(service.open())


def test_a_worker_has_a_partition_from_the_first_moment(store: str, postgres: Server) -> None:
    """The worker that had it before is declared dead meanwhile: that must not end the lease of the new one."""
    url = postgres.empty_database("claimed")
    directory = Directory(url, partitions=2)
    directory.open()
    try:
        old = PostgresStore(url, partition=1, worker="old", wait=False)
        old.open()
        old.close()
        new = PostgresStore(url, partition=1, worker="new", wait=False)
        execute = new._query_lease

        def claim_and_bury(statement: str) -> Any:
            found = execute(statement)
            directory.bury("old")
            return found

        new._query_lease = claim_and_bury  # type: ignore[method-assign]
        new.open()
        try:
            lease = directory.look(None, 60.0).leases[1]
            assert (lease.worker, lease.left > 0) == ("new", True)
        finally:
            new.close()
    finally:
        directory.close()


def test_several_need_a_store_with_several_partitions(postgres: Server) -> None:
    url = postgres.empty_database("prepared")
    assert prepare(url)[0] == 1
    for options in ({"workers": 2}, {"peer_host": "10.0.0.1"}):
        with pytest.raises(rl.live.StoreError, match=r"made with one partition, which one worker has.*--partitions"):
            prepare(url, **options)  # type: ignore[arg-type]
    for options, n in (({"workers": 2}, 8), ({"peer_host": "10.0.0.1"}, 4), ({"partitions": 3}, 3)):
        assert prepare(postgres.empty_database("prepared"), **options)[0] == n  # type: ignore[arg-type]


def test_live_refuses_a_shared_store(store: str) -> None:
    for read_only in (False, True):
        with pytest.raises(rl.live.StoreError, match="has 6 partitions, which the workers of `rankloop serve` share"):
            rl.Live(store, read_only=read_only)


def test_the_number_of_partitions_stays(store: str) -> None:
    with pytest.raises(rl.live.StoreError, match="was made with 6 partitions, which stay"):
        Directory(store, partitions=8).open()


def test_many_workers_for_few_partitions(postgres: Server) -> None:
    """Workers without a partition pass everything on, and can make keys and loops."""
    url = postgres.empty_database("few")
    directory = Directory(url, partitions=2)
    directory.open()
    directory.close()
    with ExitStack() as stack:
        workers = [stack.enter_context(worker(url, str(number))) for number in range(3)]
        eventually(lambda: sorted(len(owned(each)) for each in workers) == [0, 1, 1])
        idle = next(each for each in workers if not owned(each))
        assert idle.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0}).status_code == 201
        assert idle.key("read")
        for number in range(6):
            id_ = rank(idle, f"key {number}")["id"]
            assert idle.admin.post("/v1/events", json={"impression": id_, "item": "a"}).json() == {"fate": "accepted"}
        assert idle.admin.post("/v1/events", json={"impression": "x", "item": "a"}).json() == {"fate": "unknown"}
    with Whole(url) as whole:
        assert whole.status("search")["clicks"] == 6
        assert whole.verify().ok
