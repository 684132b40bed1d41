/** A gateway whose route `old` has a shadow, in front of an engine that records what each model is sent. */
import { expect, vi } from "vitest";
import { DONE, delta, events, finish, usage } from "../../gateway.ts";
import { chatReply, replays, type Sent } from "./replays.ts";

export const question = ({ messages }: Sent): string => messages.at(-1)?.content ?? "";
export const SHADOW = { name: "candidate", backend: "engine", model: "new", share: 1 };
interface Listed {
	name: string;
	answers: number;
}
export interface Row {
	log: string;
	before: { text: string; text_complete: boolean };
	after?: { provider: string; model: string; text: string; cost: number };
	same?: boolean;
	error?: { code: number; message: string };
}

/** `vars`: beside the routes. */
export async function shadowed(
	answer: (sent: Sent) => Response | Promise<Response>,
	setting: (Partial<typeof SHADOW> & { timeouts?: object }) | undefined = {},
	routes: object = {},
	vars: Record<string, unknown> = {},
) {
	const targets = [{ backend: "engine", model: "old" }];
	const gateway = await replays(answer, {
		...vars,
		ROUTES: {
			old: { targets, ...(setting && { shadow: { ...SHADOW, ...setting } }) },
			new: [{ backend: "engine", model: "new" }],
			...routes,
		},
	});
	const outcomes = (): Record<string, number> =>
		Object.fromEntries(
			(gateway.services.shadows.metrics()[0]?.samples ?? []).map(([{ outcome = "" }, count]) => [
				outcome,
				count,
			]),
		);
	return {
		...gateway,
		outcomes,
		/** Waits until so many requests were chosen and have ended. */
		settled: (count: number) =>
			vi.waitFor(
				() => {
					expect(Object.values(outcomes()).reduce((sum, each) => sum + each, 0)).toBe(count);
				},
				{ timeout: 30_000 },
			),
		rows: async () => (await gateway.call<Row[]>("/main/shadows/candidate/results")).result,
		list: async () => (await gateway.call<Listed[]>("/main/shadows")).result,
		toShadow: () => gateway.sent.filter(({ model }) => model === "new"),
		operatorBills: async (model: string) =>
			(await gateway.services.ledgers.of("operator").requests({ limit: 100, model })).requests.map(
				({ microNeurons, outcome }) => ({ neurons: microNeurons / 1e6, outcome }),
			),
	};
}

export const echo = (sent: Sent): Response =>
	sent.stream
		? events(delta("Streamed"), finish(), usage(), DONE)
		: chatReply(`${sent.model}: ${question(sent)}`);
