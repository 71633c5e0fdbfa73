"""A client of one Kafka broker that answers JSON lines: topics, messages of files, groups. Run by the environment that has confluent_kafka.

usage: kafka_peer.py HOST:PORT, then a request a line on standard input, {"op": …}, each answered by a line.
"""

import base64
import json
import os
import sys
import traceback
import zlib

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

ADDRESS = {"bootstrap.servers": sys.argv[1]}
PRODUCERS = {}
ADMIN = AdminClient({**ADDRESS, "log_level": 0})  # kept: a client that goes takes its answers along


def producer(transactional_id=None):
    if transactional_id not in PRODUCERS:
        made = Producer({**ADDRESS, "enable.idempotence": True, "linger.ms": 0, "log_level": 0, "topic.metadata.refresh.interval.ms": 500, **({"transactional.id": transactional_id} if transactional_id else {})})
        if transactional_id:
            made.init_transactions(30)
        PRODUCERS[transactional_id] = made
    return PRODUCERS[transactional_id]


def create(request):
    topic = NewTopic(request["topic"], request.get("partitions", 1), 1, config=request.get("config", {}))
    ADMIN.create_topics([topic])[request["topic"]].result(30)


def grow(request):
    ADMIN.create_partitions([NewPartitions(request["topic"], request["partitions"])])[request["topic"]].result(30)


def produce(request):
    """The lines of `values`; the lines of `keys` beside them as key and headers. Without `partition` a key chooses it, null keys the first one."""
    transaction = request.get("transaction")  # "commit" or "abort"
    to = producer("headrace-tests" if transaction else None)
    if transaction:
        to.begin_transaction()
    keys = request.get("keys") or [None] * len(request["values"])
    for value, line in zip(request["values"], keys, strict=True):
        message = json.loads(line) if line else {}
        key = message.get("key")
        key = None if key is None else json.dumps(key, ensure_ascii=False)
        headers = [(name, json.dumps(held, ensure_ascii=False)) for name, held in message.get("headers", {}).items()]
        partition = request.get("partition")
        if partition is None:
            partition = zlib.crc32((key or "").encode()) % request["partitions"] if key else 0
        while True:
            try:
                to.produce(request["topic"], value=None if value == "null" else value, key=key, headers=headers, partition=partition)
                break
            except BufferError:
                to.poll(0.1)
            except KafkaException as error:  # a partition that was added this moment
                if error.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                    raise
                to.poll(0.1)
        to.poll(0)
    if transaction == "abort":
        to.flush(60)
        to.abort_transaction(30)
    elif transaction:
        to.commit_transaction(30)
    if to.flush(60):
        raise RuntimeError("messages were not delivered")


def produce_bytes(request):
    """`messages`: key, value and headers in base64, null for a part that is not there, into partition 0."""
    def part(text):
        return None if text is None else base64.b64decode(text)

    to = producer()
    for message in request["messages"]:
        headers = [(name, part(held)) for name, held in message.get("headers", {}).items()]
        to.produce(request["topic"], value=part(message["value"]), key=part(message.get("key")), headers=headers, partition=0)
        to.poll(0)
    if to.flush(60):
        raise RuntimeError("messages were not delivered")


def ends(request):
    """Low and high offset of each partition."""
    ids = sorted(ADMIN.list_topics(request["topic"], 30).topics[request["topic"]].partitions)
    found = []
    for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):
        asked = {TopicPartition(request["topic"], i): spec for i in ids}
        found.append({p.partition: f.result(30).offset for p, f in ADMIN.list_offsets(asked).items()})
    return [[found[0][i], found[1][i]] for i in ids]


def group(request):
    """The offsets that a group has committed, by partition."""
    asked = ConsumerGroupTopicPartitions(request["group"])
    answer = ADMIN.list_consumer_group_offsets([asked])[request["group"]].result(30)
    return {str(p.partition): p.offset for p in answer.topic_partitions if p.topic == request["topic"]}


def delete_before(request):
    """Retention, at once: records before these offsets are gone."""
    asked = [TopicPartition(request["topic"], int(p), o) for p, o in request["offsets"].items()]
    for future in ADMIN.delete_records(asked).values():
        future.result(30)


def consume(request):
    """Every message up to the ends of now: partition, offset, key, value."""
    client = Consumer({**ADDRESS, "group.id": "headrace-tests", "enable.auto.commit": False, "isolation.level": "read_committed", "auto.offset.reset": "earliest"})
    messages = []
    for partition, (low, high) in enumerate(ends(request)):
        client.assign([TopicPartition(request["topic"], partition, low)])
        while low < high and client.position([TopicPartition(request["topic"], partition)])[0].offset < high:
            message = client.poll(0.2)
            if message is not None and message.error() is None:
                text = [None if part is None else part.decode() for part in (message.key(), message.value())]
                messages.append({"partition": partition, "offset": message.offset(), "key": text[0], "value": text[1]})
    client.close()
    return messages


OPERATIONS = {f.__name__: f for f in (create, grow, produce, produce_bytes, ends, group, delete_before, consume)}


def main():
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not come between the answers
    for line in sys.stdin:
        try:
            answer = {"ok": True, "value": OPERATIONS[(request := json.loads(line))["op"]](request)}
        except Exception as error:
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        answers.write(json.dumps(answer, ensure_ascii=False) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
