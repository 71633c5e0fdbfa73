"""`headrace run`: the chain under random commits, restarts and kills."""

import json
import random
import time
import unittest

from run_case import COMMITS, Events, RunCase, SEED


class Chain(RunCase):
    def test_every_commit_of_every_target_is_its_query(self):
        self.play("input", COMMITS // 2)

    def test_so_it_is_where_the_changes_do_not_tell_what_was(self):
        self.play("none", COMMITS // 2)

    def play(self, producer, commits):
        """Random commits to the sources, through runs that end, runs that follow and runs that are killed."""
        self.chain(producer)
        events, done, rounds = Events(SEED), 0, 0
        with self.subTest(f"HEADRACE_SEED={SEED}"):
            while done < commits:
                rounds += 1
                how = events.random.choice(["once", "stop", "kill", "kill"])
                process = None if how == "once" else self.start()
                orders, customers = events.random.randrange(1, 7), events.random.randrange(0, 5)
                self.sql("; ".join(events.order_statement() for _ in range(orders)))
                if customers:
                    lines = "".join(json.dumps(events.customer_event()) + "\n" for _ in range(customers))
                    self.run_program("ingest", "shop.customers", self.write(f"customers-{rounds}.jsonl", lines), "--commit-every", 1)
                done += orders + customers
                if how == "once":
                    self.run_once()
                elif how == "stop":
                    self.stop(process)
                else:
                    time.sleep(events.random.random() * 0.6)
                    process.kill()
                    process.wait()
            self.run_once()
            self.check_chain()
            self.assertGreater(len({tuple(at.values()) for _, at in self.positions("enriched")}), rounds // 2)


if __name__ == "__main__":
    unittest.main()
