"""Orders and customers as Debezium events into two topics at a steady rate: run by the environment that has confluent_kafka.

usage: produce.py HOST:PORT RATE SECONDS SEED BEFORE ORDERS_A_CUSTOMER     the last line it prints is the number of events produced at the rate
BEFORE orders are there before, as fast as they go. ORDERS_A_CUSTOMER: with each so many orders a new customer comes, and those who order and change are
the newest ones; 0: they are always the same, with more and more orders each.
Each order carries the milliseconds at which it was produced; one event in five updates an earlier order, one in a hundred a customer.
"""

import json
import random
import sys
import time

from confluent_kafka import Producer

CUSTOMERS = 10_000


def event(before, after):
    return json.dumps({"before": before, "after": after, "op": "c" if before is None else "u", "source": {"schema": "shop", "table": "t"}}).encode()


def main(address, rate, seconds, seed, before_orders, orders_a_customer):
    draw = random.Random(seed)
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5, "queue.buffering.max.messages": 2_000_000})
    orders, plans = [], {}

    def put(topic, key, value):
        while True:
            try:
                producer.produce(topic, key=str(key).encode(), value=value)
                return
            except BufferError:
                producer.poll(0.05)

    def new_customer():
        customer = len(plans)
        plans[customer] = draw.choice(("trial", "pro", "team"))
        put("customers", customer, event(None, {"id": customer, "plan": plans[customer]}))

    def a_customer():
        return len(plans) - 1 - draw.randrange(CUSTOMERS)

    for _ in range(CUSTOMERS):
        new_customer()

    def new_order():
        if orders_a_customer and len(orders) % orders_a_customer == 0:
            new_customer()
        order = {"id": len(orders), "customer_id": a_customer(), "day": f"2026-01-{1 + len(orders) // 1000 % 28:02}",
                 "amount": draw.randrange(10_000), "made_ms": int(time.time() * 1000)}
        orders.append(order)
        put("orders", order["id"], event(None, order))

    for _ in range(before_orders):
        new_order()
    producer.flush()
    print("ready", flush=True)
    sys.stdin.readline()
    begun, made = time.time(), 0
    while (now := time.time()) - begun < seconds:
        for _ in range(int((now - begun) * rate) - made):
            made += 1
            if made % 100 == 0:
                customer = a_customer()
                was, plans[customer] = plans[customer], draw.choice(("trial", "pro", "team"))
                put("customers", customer, event({"id": customer, "plan": was}, {"id": customer, "plan": plans[customer]}))
            if made % 5 == 0:
                place = draw.randrange(len(orders))
                before = orders[place]
                orders[place] = after = {**before, "amount": draw.randrange(10_000), "made_ms": int(time.time() * 1000)}
                put("orders", after["id"], event(before, after))
            else:
                new_order()
        producer.poll(0)
        time.sleep(0.005)
    producer.flush()
    print(made, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), *map(int, sys.argv[4:7]))
