/** The verdicts of earlier runs, so that a run can be resumed: one JSON object a line. */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Candidate } from "./candidates.ts";
import type { Verdict } from "./sandbox.ts";

type Judged = Pick<Candidate, "file" | "source" | "start" | "end" | "replacement">;

interface JournalLine {
	key: string;
	verdict: Verdict;
}

export class Journal {
	readonly #path: string;
	readonly #verdicts: Map<string, Verdict>;

	/** @param resume whether verdicts in the file count; otherwise the file is emptied. */
	constructor(path: string, { resume }: { resume: boolean }) {
		this.#path = path;
		const lines = resume && existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
		const parsed = lines.map((line): JournalLine => JSON.parse(line));
		this.#verdicts = new Map(parsed.map(({ key, verdict }) => [key, verdict]));
		if (!resume) writeFileSync(path, "");
	}

	/** The verdict on the same mutant of the same text. Survivors are judged again, because the tests may have changed. */
	killed(mutant: Judged): Verdict | undefined {
		const verdict = this.#verdicts.get(keyOf(mutant));
		return verdict === "survived" ? undefined : verdict;
	}

	record(mutant: Judged, verdict: Verdict): void {
		const line: JournalLine = { key: keyOf(mutant), verdict };
		this.#verdicts.set(line.key, verdict);
		appendFileSync(this.#path, `${JSON.stringify(line)}\n`);
	}
}

function keyOf({ file, source, start, end, replacement }: Judged): string {
	return createHash("sha256")
		.update(JSON.stringify([file, source, start, end, replacement]))
		.digest("base64url");
}
