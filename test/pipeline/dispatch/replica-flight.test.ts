import { expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import type { DispatchContext } from "../../../src/pipeline/dispatch/dispatch-state.ts";
import { EMPTY_REQUEST } from "../../../src/pipeline/dispatch/pool-request.ts";
import type { PooledTarget } from "../../../src/pipeline/plan.ts";
import { Pools } from "../../../src/pools/pools.ts";
import { ReplicaChanges } from "../../../src/pools/replica-changes.ts";
import { delta } from "../../gateway.ts";
import { observedExchange } from "../exchanges.ts";
import { silent, streamed, target, world } from "./world.ts";

/** A byte stream that stays open after its first event. */
function oneEvent(): Response {
	const body = new ReadableStream({
		type: "bytes",
		start: (controller) => controller.enqueue(new TextEncoder().encode(delta("Hi"))),
	});
	return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** A pool of one replica, whose engine has sent one event that is not read. */
async function answering(context: Partial<DispatchContext> = {}) {
	const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
	const pool = new Pools({ random: () => 0, changes }).of({
		backend: "a",
		urls: ["http://a/v1"],
		pool: {},
	});
	if (!pool) throw new Error("no pool");
	const { url: _, circuit: __, ...shared } = target("a");
	const pooled: PooledTarget = { ...shared, pool };
	const { clock, runIn } = world({ replies: { a: oneEvent }, plan: { targets: [pooled] } });
	const { exchange } = observedExchange({ admission: {} });
	await runIn({ exchange, ...context }, streamed());
	return { clock, exchange, replicas: pool.replicas };
}

it("a replica is free when the request has ended, also if its answer is not read", async () => {
	const { exchange, replicas } = await answering();
	const requests = () => replicas.members.map((replica) => replica.requests);
	expect(requests()).toEqual([1]);
	exchange.fail(new AiError("aborted"));
	await exchange.ended;
	expect(requests()).toEqual([0]);
});

it.each<[string, Partial<DispatchContext>, boolean]>([
	["until its first token is read", {}, true],
	[
		"for the expected time, if the stream passes through unread",
		{ streamEnd: { onFailure: () => "" } },
		false,
	],
])("a prompt waits %s", async (_, context, waits) => {
	const { clock, replicas } = await answering(context);
	const prefillTokens = () => replicas.members.map((replica) => replica.prefillTokens > 0);
	expect(prefillTokens()).toEqual([true]);
	replicas.choose(EMPTY_REQUEST, clock.now + 3_600_000);
	expect(prefillTokens()).toEqual([waits]);
});

it("a prefill replica that has not answered is free when the request has ended", async () => {
	const disaggregation = {
		protocol: "sglang",
		roles: { "http://p1": "prefill", "http://d1": "decode" },
		minPrefillTokens: 0,
		bootstrapPorts: {},
		rewriteRemoteHost: false,
	} as const;
	const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
	const urls = Object.keys(disaggregation.roles);
	const pool = new Pools({ random: () => 0, changes }).of({ backend: "a", urls, pool: { disaggregation } });
	if (!pool) throw new Error("no pool");
	const { url: _, circuit: __, ...shared } = target("a");
	const { runIn, engines } = world({
		replies: { p1: silent, d1: oneEvent },
		plan: { targets: [{ ...shared, pool }] },
	});
	const { exchange } = observedExchange({ admission: {} });
	await runIn({ exchange }, streamed());
	const requests = () =>
		[pool.replicas, pool.prefill].flatMap((replicas) => replicas?.members.map(({ requests }) => requests));
	expect([engines().sort(), requests()]).toEqual([
		["d1", "p1"],
		[1, 1],
	]);
	exchange.fail(new AiError("aborted"));
	await exchange.ended;
	expect(requests()).toEqual([0, 0]);
});
