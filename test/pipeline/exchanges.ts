/** Exchanges for tests of single steps, with what their observers receive. */
import type { AccountLedger, Admission, Settlement } from "../../src/accounts/admission.ts";
import { AiError } from "../../src/core/errors.ts";
import { openaiChat } from "../../src/dialects/chat/openai-route.ts";
import { adHocModel } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import { singleFlight } from "../../src/pipeline/dispatch/single-flight-step.ts";
import { Exchange } from "../../src/pipeline/exchange.ts";
import type { EngineAnswer, InferenceRequest } from "../../src/pipeline/request.ts";
import type { PipelineServices } from "../../src/pipeline/services.ts";
import type { TaskCall } from "../../src/tasks/task.ts";

export const ADMISSION: Admission = {
	ticket: "t-1",
	credential: { kind: "operator" },
	model: "m",
	task: "Text Generation",
	rates: [],
	budgets: [],
	cost: { fixedMicroNeurons: 0, microNeuronsPerOutputToken: 0, outputTokens: 0, outputUnbounded: false },
	holdMs: 3_600_000,
};

export interface Observed {
	exchange: Exchange;
	settled: Settlement[];
	/** Codes of the failures that a log receives, with the request's id. */
	logged: [id: string, code: number][];
	/** Resolves when the runtime may end the request's context. */
	released: Promise<unknown>[];
}

export interface ExchangeOptions {
	id?: string;
	model?: Model;
	now?: () => number;
	/** The array to add failures to. */
	logged?: [id: string, code: number][];
	/** Absent: the request has not asked its account yet. */
	admission?: Partial<Admission>;
	/** What the account's object answers. Absent: it admits nothing. */
	ledger?: Pick<AccountLedger, "admit">;
}

export function observedExchange({
	id = "id",
	model = adHocModel("m"),
	now = () => 0,
	logged = [],
	admission,
	ledger = { admit: () => Promise.reject(new AiError("ledgerUnavailable")) },
}: ExchangeOptions = {}): Observed {
	const settled: Settlement[] = [];
	const released: Promise<unknown>[] = [];
	const log = (failure: AiError) => void logged.push([id, failure.code]);
	const caller = { account: "team-a", credential: { kind: "operator" } } as const;
	const exchange = new Exchange(
		{ id, caller, signal: new AbortController().signal },
		{
			now,
			waitUntil: (promise) => void released.push(promise),
			ledgers: {
				of: () => ({
					...ledger,
					admitFromLease: () => undefined,
					settle: (settlement) => void settled.push(settlement),
				}),
			},
			observers: [
				{
					attemptFailed: (_, failure) => log(failure),
					failed: (_, failure) => log(failure),
				},
			],
		},
	);
	if (admission) {
		exchange.reserve({ ...ADMISSION, ...admission }, model);
		exchange.admit({});
	}
	return { exchange, settled, logged, released };
}

/** Dispatches through the single-flight step, for a caller of the account who has opted in. */
export function dispatchShared(
	account: string,
	call: TaskCall,
	{
		services,
		signal,
		dispatch,
	}: {
		services: Pick<PipelineServices, "flights" | "now" | "wait" | "waitUntil">;
		signal: AbortSignal;
		dispatch(call: TaskCall, signal: AbortSignal): Promise<EngineAnswer>;
	},
): Promise<EngineAnswer> {
	const model = adHocModel("m");
	const request: InferenceRequest = {
		id: "id",
		caller: { account, credential: { kind: "operator" } },
		model: model.id,
		dialect: () => openaiChat,
		inputs: { fields: {} },
		signal,
		options: { singleFlight: true },
	};
	const { writer } = openaiChat;
	return singleFlight(
		{ request, model, routed: undefined, writer, inputs: {}, call, signal },
		services,
		(next) => dispatch(next.call, next.signal),
	);
}
