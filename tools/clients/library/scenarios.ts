/** The scenarios of client libraries. A scenario throws if it fails, and returns a note. */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Context, Library, LocalTool, Operations, Scenario } from "./client.ts";
import { PERSON, PROMPTS } from "./mind.ts";
import { RED_PNG } from "./red-png.ts";

type Play = (operations: Operations, library: Library, context: Context) => Promise<string>;

export const PLAYS: Readonly<Record<Scenario, Play>> = {
	turn,
	second,
	stream,
	tools,
	structured,
	image,
	error,
	abort,
};

const PNG = Buffer.from(RED_PNG, "base64");
const ABORT_AFTER_PIECES = 3;
/** From the call of a client without streams: it may have to start a program first. */
const ABORT_AFTER_MS = 5_000;

const nonce = (): string => `w${randomBytes(4).toString("hex")}`;

function expect(holds: boolean, reason: string): asserts holds {
	if (!holds) throw new Error(reason);
}

function required<Value>(operation: Value | undefined, name: string): Value {
	if (operation === undefined) throw new Error(`the client's file has no ${name}, and no reason for it`);
	return operation;
}

async function turn(operations: Operations): Promise<string> {
	const text = nonce();
	const [answer = ""] = await operations.converse([PROMPTS.say(text)]);
	expect(answer.trim() === text, `the answer is ${JSON.stringify(answer)}, not ${JSON.stringify(text)}`);
	return "";
}

async function second(operations: Operations, { addsTurns }: Library): Promise<string> {
	const answers = await operations.converse([PROMPTS.name, PROMPTS.ask, PROMPTS.again]);
	const counts = addsTurns ? "after \\d+ turns and [12] answers" : undefined;
	const expected = [
		/^Nice to meet you\.$/,
		new RegExp(`^Your name is Alice, ${counts ?? "after 1 turns and 1 answers"}\\.$`),
		new RegExp(`^Your name is Alice, ${counts ?? "after 2 turns and 2 answers"}\\.$`),
	];
	const matches = expected.every((pattern, place) => pattern.test((answers[place] ?? "").trim()));
	expect(matches && answers.length === 3, `the answers are ${JSON.stringify(answers)}`);
	return "";
}

async function stream(operations: Operations): Promise<string> {
	const text = `${nonce()} is what comes ${nonce()} in many pieces ${nonce()}`;
	const pieces: string[] = [];
	const open = required(operations.stream, "stream");
	for await (const piece of open(PROMPTS.say(text), new AbortController().signal))
		if (piece !== "") pieces.push(piece);
	expect(pieces.join("") === text, `the pieces are ${JSON.stringify(pieces)}`);
	expect(pieces.length > 1, "the answer arrived in one piece");
	return "";
}

async function tools(operations: Operations): Promise<string> {
	const cities: string[] = [];
	const answers = new Map([
		["Paris", nonce()],
		["London", nonce()],
	]);
	const tool: LocalTool = {
		name: "weather",
		description: "The weather in a city",
		run(city) {
			cities.push(city);
			return answers.get(city) ?? "unknown city";
		},
	};
	const answer = await required(operations.callTools, "callTools")(PROMPTS.weather, tool);
	expect(
		isDeepStrictEqual(cities.sort(), ["London", "Paris"]),
		`the tool was called for ${cities.join(", ") || "nothing"}: ${answer}`,
	);
	for (const result of answers.values())
		expect(answer.includes(result), `the answer has no result of the tool: ${answer}`);
	return "";
}

async function structured(operations: Operations): Promise<string> {
	const person = await required(operations.extract, "extract")(PROMPTS.person);
	expect(isDeepStrictEqual(person, PERSON), `the object is ${JSON.stringify(person)}`);
	return "";
}

async function image(operations: Operations): Promise<string> {
	const answer = await required(operations.describe, "describe")(PROMPTS.image, new Uint8Array(PNG));
	expect(answer === `Images of ${PNG.length} bytes.`, `of ${PNG.length} bytes: ${answer}`);
	return "";
}

/** 401, an unknown model, and a 429 with `Retry-After`: each as the client reports it, or retries it. */
async function error(_: Operations, library: Library, context: Context): Promise<string> {
	const failure = async (change: Partial<Context>): Promise<Fault> => {
		const operations = await library.open({ ...context, ...change });
		return operations.converse([PROMPTS.say("nothing")]).then(
			(answers) => ({ status: 200, sentence: JSON.stringify(answers) }),
			(thrown: unknown) => faultOf(thrown, library),
		);
	};
	const stranger = await failure({ token: "not-a-token-of-the-gateway-0000000000" });
	expect(stranger.status === 401, `a wrong token: ${stranger.status} ${stranger.sentence}`);
	const unknownModel = `${context.model}-unknown`;
	const unknown = await failure({ model: unknownModel });
	expect(
		(unknown.status === 404 || unknown.status === 400) &&
			(unknown.sentence.includes(unknownModel) || library.onlyStatus !== undefined),
		`an unknown model: ${unknown.status} ${unknown.sentence}`,
	);
	const text = nonce();
	const operations = await library.open(context);
	const limited = await operations.converse([PROMPTS.limited(text)]).then(
		([answer = ""]) => answer.trim(),
		(thrown: unknown) => faultOf(thrown, library),
	);
	if (limited === text) return "retries a 429";
	expect(typeof limited === "object" && limited.status === 429, `a 429: ${JSON.stringify(limited)}`);
	return "reports a 429";
}

interface Fault {
	/** The status, as the client's error has it. 0: it has none. */
	status: number;
	sentence: string;
}

/** Clients wrap errors. The status and the sentence are those of the outermost error that has them. */
function faultOf(thrown: unknown, { sentences = {} }: Pick<Library, "sentences">): Fault {
	const errors: Record<string, unknown>[] = [];
	for (let one: unknown = thrown; isRecord(one) && !errors.includes(one); ) {
		errors.push(one);
		one = one.lastError ?? one.cause ?? one.rawError ?? one.originalError;
	}
	const sentence = errors
		.flatMap(({ body, httpResponse, message, responseBody }) => [
			message,
			responseBody,
			body,
			isRecord(httpResponse) ? httpResponse.body : undefined,
		])
		.map((text) => (isRecord(text) ? JSON.stringify(text) : text))
		.filter((text) => typeof text === "string")
		.join(" | ");
	const statuses = errors.flatMap(({ code, httpResponse, response, status, statusCode, status_code }) => [
		statusCode,
		status,
		status_code,
		isRecord(response) ? response.status : undefined,
		isRecord(httpResponse) ? httpResponse.status : undefined,
		code,
	]);
	const status = statuses.map(Number).find((one) => one >= 400 && one < 600);
	const own = Object.entries(sentences).find(([, pattern]) => pattern.test(sentence))?.[0];
	// Some clients have the status only in the sentence: `401 Unauthorized`, `"code":401`, `HTTP 401`.
	const written = /\b(4\d\d|5\d\d)\b/.exec(sentence)?.[1];
	return { status: Number(own ?? status ?? written ?? 0), sentence: sentence || String(thrown) };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null;

/** The runner checks that a host was called, and that its connection closes. */
async function abort(operations: Operations, library: Library): Promise<string> {
	const controller = new AbortController();
	if (!operations.stream) {
		const interrupted = required(operations.interrupt, "interrupt")(PROMPTS.forever, controller.signal);
		const timer = setTimeout(() => controller.abort(), ABORT_AFTER_MS);
		await interrupted.catch(() => {}).finally(() => clearTimeout(timer));
		expect(controller.signal.aborted, "the call ended before the abort");
		return "";
	}
	let pieces = 0;
	try {
		for await (const piece of operations.stream(PROMPTS.forever, controller.signal)) {
			if (piece === "" || ++pieces !== ABORT_AFTER_PIECES) continue;
			controller.abort();
			if (library.endsByLeaving) break;
		}
	} catch (thrown) {
		expect(pieces > 0, `no piece arrived: ${faultOf(thrown, library).sentence}`);
	}
	expect(controller.signal.aborted, `${pieces} pieces arrived, then the stream ended`);
	return "";
}
