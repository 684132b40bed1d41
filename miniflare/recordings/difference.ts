/** Tells in which field a call differs from the most similar recording. */
import { isRecord } from "../../src/core/json.ts";
import { type Call, keyOf, type Recording } from "./recording-file.ts";

interface Difference {
	/** Such as `input.messages[0].content`. */
	path: string;
	recorded: unknown;
	sent: unknown;
}

/** Such as `run("@cf/…") of the test "…"`. */
export const describeCall = ({ call, model, test }: Call): string =>
	`${call === "run" ? `run(${JSON.stringify(model)})` : call}${test === undefined ? "" : ` of the test ${JSON.stringify(test)}`}`;

/** Why no recording answers a call: a clause. `file`: the name of the file of its scope. */
export function describeMiss(call: Call, recordings: readonly Recording[], file: string): string {
	if (recordings.length === 0) return `${file} has no recordings`;
	const key = keyOf({ ...call, test: undefined });
	const equal = recordings.find((recording) => keyOf({ ...recording, test: undefined }) === key);
	if (equal)
		return `${file} has this call only ${equal.test === undefined ? "outside of tests" : `in the test ${JSON.stringify(equal.test)}`}`;
	const ofTest = recordings.filter(({ test }) => test === call.test);
	const [nearest] = ofTest
		.map((recording) => differences(compared(recording), compared(call)))
		.sort((a, b) => a.length - b.length);
	const [first] = nearest ?? [];
	if (!first)
		return `${file} has no recordings of ${call.test === undefined ? "calls outside of tests" : "this test"}`;
	return `the nearest recording in ${file} differs at ${first.path.replace(/^input[.]?(?=.)/, "")}: recorded ${excerpt(first.recorded, first.sent)}, sent ${excerpt(first.sent, first.recorded)}`;
}

const compared = ({ call, input, model, options }: Call) => ({ call, model, input, options });

function differences(recorded: unknown, sent: unknown, path = ""): Difference[] {
	if (Array.isArray(recorded) && Array.isArray(sent)) {
		const items = Array.from({ length: Math.max(recorded.length, sent.length) }, (_, at) =>
			differences(recorded[at], sent[at], `${path}[${at}]`),
		);
		return items.flat();
	}
	if (isRecord(recorded) && isRecord(sent)) {
		const names = new Set([...Object.keys(recorded), ...Object.keys(sent)]);
		const fields = [...names].map((name) =>
			differences(recorded[name], sent[name], path === "" ? name : `${path}.${name}`),
		);
		return fields.flat();
	}
	return JSON.stringify(recorded) === JSON.stringify(sent) ? [] : [{ path, recorded, sent }];
}

/** Characters of a value in a sentence. */
const EXCERPT = 60;

/** The value as JSON. Of a long text, the part around the first character that differs. */
function excerpt(value: unknown, other: unknown): string {
	if (value === undefined) return "nothing";
	const text = JSON.stringify(value);
	if (text.length <= EXCERPT) return text;
	const otherText = JSON.stringify(other) ?? "";
	let same = 0;
	while (same < text.length && text[same] === otherText[same]) same++;
	const start = Math.max(0, Math.min(same - EXCERPT / 3, text.length - EXCERPT));
	const end = start + EXCERPT;
	return `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
}
