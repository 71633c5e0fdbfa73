"""The pipelines of the documents do what these say."""

import os
import subprocess
import unittest

from program_case import FIXTURES, PROGRAM
from run_case import RunCase


class Documented(RunCase):
    def test_the_first_pipeline_of_the_documents_does_what_they_say(self):
        text = (FIXTURES.parent.parent / "docs/pipelines.md").read_text().split("## A first one")[1].split("## What can be kept")[0]
        tables, pipeline, commands, shown = [part.split("\n", 1)[1] for part in text.split("```")[1::2]]
        self.pipeline(pipeline, "revenue.sql")
        script = f"set -e; headrace() {{ '{PROGRAM}' --warehouse '{self.warehouse}' \"$@\"; }}\n{tables}{commands}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=self.folder, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(shown.rsplit("rows", 1)[0], done.stdout)
        self.assertIn("by touched keys", done.stdout)

    def test_the_first_pipeline_of_the_readme_does_what_it_says(self):
        """Each command, with all that it prints."""
        readme = (FIXTURES.parent.parent / "README.md").read_text()
        block = readme.split("<!-- pipeline -->\n```\n")[1].split("```")[0]
        environment = {**os.environ, "PATH": f"{os.path.dirname(PROGRAM)}:{os.environ['PATH']}", "HEADRACE_WAREHOUSE": str(self.warehouse)}
        for part in block.split("\n$ ")[1:]:  # behind the first, which sets what is set here
            if "<<" in part.split("\n")[0]:
                command, shown = part.rsplit("\nEND", 1)
                command += "\nEND\n"
            else:
                command, shown = part.split("\n", 1) if "\n" in part else (part, "")
                while command.endswith("\\"):
                    more, shown = shown.split("\n", 1)
                    command += "\n" + more
            done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder, env=environment, timeout=120)
            told = done.stdout.replace(str(self.warehouse), "/home/ana/chain")
            with self.subTest(command):
                self.assertEqual((done.returncode, told.strip()), (0, shown.strip()))


if __name__ == "__main__":
    unittest.main()
