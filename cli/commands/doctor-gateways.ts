/**
 * `ganglion doctor --url`: whether the gateways of an account on a running deployment work: each guard model that a gateway's guardrails
 * need is called once, and each collector is asked for an answer, without its credentials, which the API does not show.
 */
import * as z from "zod";
import type { Finding } from "../../scripts/engines/doctor.ts";
import { codeOf } from "../../scripts/file-failure.ts";
import { ALL_GATEWAYS } from "../../src/gateways/gateway-bounds.ts";
import { CommandError, type GatewayClient } from "../gateway-client.ts";

const TIMEOUT_MS = 5_000;
/** The hazard that another model finds. */
const INJECTION = "P1";
const LLAMA_GUARD = "@cf/meta/llama-guard-3-8b";
const PROMPT_GUARD = "@cf/meta/prompt-guard-2-86m";

const Rules = z.record(z.string(), z.string()).optional();
const Gateways = z.array(
	z.looseObject({
		id: z.string(),
		guardrails: z.looseObject({ prompt: Rules, response: Rules }).nullish(),
		otel: z.array(z.looseObject({ url: z.string() })).nullish(),
	}),
);
type GatewayRow = z.output<typeof Gateways>[number];

export async function examineGateways(client: GatewayClient, fetcher = fetch): Promise<Finding[]> {
	const gateways = await client.result(`/ai-gateway/gateways?per_page=${ALL_GATEWAYS}`, Gateways);
	const calls = new Map<string, Promise<string | undefined>>();
	const examined = gateways.map((gateway) => examineGateway(gateway, { client, fetcher, calls }));
	const findings = (await Promise.all(examined)).flat();
	if (findings.length > 0) return findings;
	const { account, url } = client;
	const detail = "reached, nothing to try";
	return [{ backend: `account ${account}`, url, check: "gateways", result: "ok", detail }];
}

interface Context {
	client: GatewayClient;
	fetcher: typeof fetch;
	/** The result of the call of each guard model: `undefined`, or why it failed. */
	calls: Map<string, Promise<string | undefined>>;
}

async function examineGateway(
	{ id, guardrails, otel }: GatewayRow,
	{ calls, client, fetcher }: Context,
): Promise<Finding[]> {
	const finding = (
		check: Finding["check"],
		{ url = "", problem, detail }: { url?: string; problem: string | undefined; detail: string },
	): Finding => ({
		...{ backend: `gateway ${id}`, url, check },
		...(problem === undefined
			? { result: "ok" as const, detail }
			: { result: "failed" as const, detail: `${detail}: ${problem}` }),
	});
	const hazards = [...Object.keys(guardrails?.prompt ?? {}), ...Object.keys(guardrails?.response ?? {})];
	const models = [
		...(hazards.some((hazard) => hazard !== INJECTION) ? [LLAMA_GUARD] : []),
		...(hazards.includes(INJECTION) ? [PROMPT_GUARD] : []),
	];
	const guards = models.map(async (model) => {
		const calling = calls.get(model) ?? problemOfGuard(model, client);
		calls.set(model, calling);
		return finding("guard", { problem: await calling, detail: model });
	});
	const collectors = (otel ?? []).map(async ({ url }) => {
		const problem = await problemOfCollector(url, fetcher);
		return finding("collector", { url, problem, detail: problem === undefined ? "answers" : "no answer" });
	});
	return Promise.all([...guards, ...collectors]);
}

async function problemOfGuard(model: string, client: GatewayClient): Promise<string | undefined> {
	try {
		const body = { messages: [{ role: "user", content: "Hello" }], max_tokens: 8 };
		await client.send(`/ai/run/${model}`, { method: "POST", body });
		return undefined;
	} catch (error) {
		if (!(error instanceof CommandError)) throw error;
		return `${error.message}. Requests in this gateway are refused where a rule is BLOCK`;
	}
}

/** Every answer shows that the address is right. A collector refuses a request without spans. */
async function problemOfCollector(url: string, fetcher: typeof fetch): Promise<string | undefined> {
	try {
		const signal = AbortSignal.timeout(TIMEOUT_MS);
		const answer = await fetcher(url, { method: "POST", body: "{}", redirect: "manual", signal });
		await answer.body?.cancel();
		return answer.status === 404 ? "HTTP 404: the path is wrong" : undefined;
	} catch (error) {
		const { cause = error } = error instanceof Error ? error : {};
		return codeOf(cause) || String(cause);
	}
}
