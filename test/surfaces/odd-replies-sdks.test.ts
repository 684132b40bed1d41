/** Odd replies of an engine, whole and streamed, as the published SDKs read them. */
import { afterAll, describe, expect, it, vi } from "vitest";
import { upstream } from "../gateway.ts";
import { type Sdk, sdksOf } from "./odd-replies/sdks.ts";
import { WIRE_ANSWERS, WIRE_FAILURES } from "./odd-replies/wire-cases.ts";

const MODEL = "acme/llama-4";
const RUN_MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
// One attempt: a second one would wait, and the engine's answer would be the same.
const ROUTE = { targets: [{ backend: "engine", model: "llama-4-scout" }], retries: { attempts: 1 } };
const VARS = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: { [MODEL]: ROUTE, [RUN_MODEL]: ROUTE },
	MODELS: { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } },
};

let respond = () => new Response();
const { fetch } = upstream(() => respond());
const sdks = Object.entries(sdksOf({ vars: VARS, fetch }, MODEL, RUN_MODEL));
afterAll(() => void vi.unstubAllGlobals());

const KINDS = ["value", "stream"] as const;

/** What each SDK makes of the reply, by its name and the kind of its request. */
async function results(
	shown: (sdk: Sdk, kind: (typeof KINDS)[number]) => Promise<unknown>,
	among: typeof sdks = sdks,
) {
	const calls = among.flatMap(([name, sdk]) =>
		KINDS.map(async (kind) => [`${name}, ${kind}`, await shown(sdk, kind)] as const),
	);
	return Object.fromEntries(await Promise.all(calls));
}

const named = <Case extends { name: string }>(cases: readonly Case[]) =>
	cases.map((one) => [one.name, one] as const);

describe("every SDK reads the answer", () => {
	it.each(named(WIRE_ANSWERS))("%s", async (_, reply) => {
		({ respond } = reply);
		const hasCalls = reply.answer.calls.length > 0;
		const readers = sdks.filter(([, { omits }]) => !hasCalls || !omits?.includes("calls"));
		const without = (answer: object, { omits = [] }: Sdk) =>
			Object.fromEntries(Object.entries(answer).filter(([field]) => !omits.includes(field as never)));
		const read = await results(
			(sdk, kind) =>
				sdk[kind]().then(
					(answer) => without(answer, sdk),
					(error: unknown) => String(error),
				),
			readers,
		);
		expect(read).toEqual(await results(async (sdk) => without(reply.answer, sdk), readers));
	});
});

describe("every SDK fails with the sentence", () => {
	it.each(named(WIRE_FAILURES))("%s", async (_, { respond: sent, status, sentence, lateSentence }) => {
		respond = sent;
		const read = await results(async (sdk, kind) => {
			const isLate = kind === "stream" && lateSentence !== undefined;
			try {
				const answer = await sdk[kind]();
				return isLate && sdk.hidesLateFailures ? "failed" : answer;
			} catch (error) {
				const text = `${String(error)} ${JSON.stringify(error)}`;
				// One client shows the status alone.
				const hasStatus = isLate || text.includes(String(status));
				const hasSentence =
					text.includes(isLate ? lateSentence : sentence) || text.includes(`code ${status}`);
				return hasStatus && hasSentence ? "failed" : text;
			}
		});
		expect(read).toEqual(await results(async () => "failed"));
	});
});
