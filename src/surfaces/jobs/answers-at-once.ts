/**
 * `requests` without `queueRequest`: the answers of all requests in one, as the queue's at the end. The product's template of batches
 * calls it so; the form of the answer is unknown, so it is that of the queue.
 */
import { RESULT_FORMATS } from "../../jobs/batches/result-lines.ts";
import { boundedText } from "../../outbound/bounded-text.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { ExchangeObserver } from "../../telemetry/exchange-observer.ts";
import { lineRunner } from "./batch-work.ts";
import type { BatchCall } from "./manage-batch.ts";
import { NATIVE_ENDPOINT } from "./native-endpoint.ts";

/** Requests that run at the same time. */
const AT_ONCE = 8;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const UNREAD = JSON.stringify({ errors: [{ message: "The answer broke off, or is too large" }] });

interface SentLine {
	customId: string;
	body: object;
}

/** JSON. Each answer is written when it and those before it are there. A reader that stops ends the requests. */
export function answersAtOnce(
	lines: readonly SentLine[],
	headers: Headers,
	call: BatchCall,
): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	const left = new AbortController();
	const texts = answers(lines, { headers, signal: left.signal }, call);
	return new PulledStream<Uint8Array>({
		async pull() {
			const { done, value } = await texts.next();
			return done ? undefined : encoder.encode(value);
		},
		async cancel() {
			left.abort();
			await texts.return(undefined);
		},
	});
}

async function* answers(
	lines: readonly SentLine[],
	{ headers, signal }: { headers: Headers; signal: AbortSignal },
	{ caller, services }: BatchCall,
): AsyncGenerator<string> {
	const run = lineRunner(services);
	const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
	const counting: ExchangeObserver = {
		settled(_, { settlement }) {
			usage.prompt_tokens += settlement.inputTokens;
			usage.completion_tokens += settlement.outputTokens;
			usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
		},
	};
	const { ledgers, observers } = services;
	const answer = async ({ customId, body }: SentLine): Promise<string> => {
		const id = services.uuid();
		const { response } = await run(
			{ id, caller, headers, endpoint: NATIVE_ENDPOINT, fields: body as never, signal },
			{ ledgers, observers: [...observers, counting] },
		);
		const text = await boundedText(response.body, MAX_ANSWER_BYTES).catch(() => undefined);
		const status = text === undefined ? 500 : response.status;
		const line = RESULT_FORMATS["workers-ai"].answered(customId, {
			status,
			requestId: id,
			text: text ?? UNREAD,
		});
		return line.text.trimEnd();
	};
	const running: Promise<string>[] = [];
	let started = 0;
	yield '{"responses":[';
	for (let index = 0; index < lines.length; index++) {
		for (; started < lines.length && running.length < AT_ONCE; started++)
			running.push(answer(lines[started] as SentLine));
		yield `${index > 0 ? "," : ""}${await running.shift()}`;
	}
	yield `],"usage":${JSON.stringify(usage)}}`;
}
