/**
 * Requests for more models than the memory has room for. Each one is answered by its model with the words of the first answer, and nothing
 * is left after the end.
 */
import { quantile } from "../bench/statistics.ts";
import {
	becomes,
	chat,
	GATEWAY_PATH,
	MODELS,
	modelProcesses,
	newFolder,
	processesOf,
	remove,
	startGateway,
} from "./gateway.ts";

/** Room for two of the four models. */
const MEMORY_GB = "0.45";
const CALLERS = 4;
const CALLERS_OF_A_MODEL = 2;
/** Requests of a caller for one model, before the next one. */
const IN_A_ROW = 2;
const TOKENS = 8;

export async function evict(file: string, requests = 1_000): Promise<boolean> {
	const folder = newFolder(file);
	const gateway = await startGateway(folder, { GANGLION_MODELS_MEMORY_GB: MEMORY_GB });
	await becomes(() => /is ready on/.test(gateway.output()));
	const seen = new Set<number>();
	const times: number[] = [];
	const failures = new Map<string, number>();
	const words = new Map<string, string>();
	let most = 0;
	let next = 0;
	const caller = async (offset: number): Promise<void> => {
		while (next < requests) {
			const number = next++;
			const model = MODELS[(Math.floor(number / CALLERS / IN_A_ROW) + offset) % MODELS.length] ?? MODELS[0];
			const answer = await chat(gateway.port, { model, path: GATEWAY_PATH, tokens: TOKENS });
			times.push(answer.ms);
			const reason =
				answer.status === 200 ? wrongIn(answer.text, model, words) : `HTTP ${answer.status} ${answer.text}`;
			if (reason !== undefined) failures.set(reason, (failures.get(reason) ?? 0) + 1);
			const running = modelProcesses(folder);
			for (const { pid } of running) seen.add(pid);
			most = Math.max(most, running.length);
		}
	};
	await Promise.all(
		Array.from({ length: CALLERS }, (_, offset) => caller(Math.floor(offset / CALLERS_OF_A_MODEL))),
	);
	await gateway.kill("SIGTERM");
	const isClean = await becomes(() => processesOf(folder).length === 0, 10_000);
	for (const [reason, count] of failures) console.log(`${count} × ${reason}`);
	console.log(
		`${times.length} requests: ${[...failures.values()].reduce((sum, count) => sum + count, 0)} failed, ${seen.size} starts of models seen, at most ${most} at once; p50 ${Math.round(quantile(times, 0.5))} ms, longest ${Math.round(Math.max(...times))} ms; ${isClean ? "no process is left" : "PROCESSES ARE LEFT"}`,
	);
	remove(folder);
	return failures.size === 0 && isClean;
}

interface Answered {
	model: string;
	choices: { message: { content: string } }[];
}

/** `words`: the first answer of each model. */
function wrongIn(text: string, model: string, words: Map<string, string>): string | undefined {
	const { model: named, choices } = JSON.parse(text) as Answered;
	const content = choices[0]?.message.content ?? "";
	const expected = words.get(model) ?? content;
	words.set(model, expected);
	if (named === model && content === expected && content !== "") return undefined;
	return `${named} in place of ${model}: ${content} in place of ${expected}`;
}
