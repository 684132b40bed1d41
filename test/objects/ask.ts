/** Messages to an account, with what most tests do not care about filled in. */
import { env } from "cloudflare:workers";
import type { Account } from "../../src/objects/account.ts";
import type { Admission, Settlement } from "../../src/objects/admission.ts";

export const MODEL = "@cf/meta/llama-3.1-8b-instruct";
export const TASK = "Text Generation";

let accounts = 0;

/** An account that nobody has used. */
export const newAccount = (): string => `account-${++accounts}-${crypto.randomUUID()}`;

export const stubOf = (account: string): DurableObjectStub<Account> => env.ACCOUNT.getByName(account);

/** Costs nothing and has no limits, unless the test says so. */
export const admission = (fields: Partial<Admission> = {}): Admission => ({
	ticket: crypto.randomUUID(),
	credential: { kind: "operator" },
	model: MODEL,
	task: TASK,
	rates: [],
	budgets: [],
	worth: { fixedMicroNeurons: 0, microNeuronsPerOutputToken: 0, outputTokens: 0, open: false },
	holdMs: 600_000,
	...fields,
});

/** Worth so many micro-neurons, all of them fixed. */
export const worth = (microNeurons: number): Admission["worth"] => ({
	fixedMicroNeurons: microNeurons,
	microNeuronsPerOutputToken: 0,
	outputTokens: 0,
	open: false,
});

export const settlement = (ticket: string, fields: Partial<Settlement> = {}): Settlement => ({
	ticket,
	outcome: "ok",
	microNeurons: 0,
	inputTokens: 0,
	cachedTokens: 0,
	outputTokens: 0,
	estimated: false,
	backend: "engine",
	attempts: 1,
	latencyMs: 10,
	firstTokenMs: 4,
	...fields,
});
