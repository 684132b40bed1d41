/** Chats with a LoRA adapter. The engine gets the adapter first, if it has not; then the request names it as the engine expects. */
import { BoundedMap } from "../../../core/bounded-map.ts";
import type { AiError } from "../../../core/errors.ts";
import { withTimeout } from "../../../core/with-timeout.ts";
import { holders } from "../../../pools/adapter-holders.ts";
import type { ChatInput } from "../../../tasks/text-generation/types.ts";
import { type AccountAdapter, findAdapter } from "../../adapters.ts";
import type { Target } from "../../backend.ts";
import type { Handler } from "../../handler.ts";
import { readError } from "../../transport/error-body.ts";
import { type Call, failureOfTarget, type Refusal } from "../../transport/upstream-failure.ts";
import { allowsAdapter } from "../sampling.ts";
import { ADAPTER_ENGINES, type AdapterEngine } from "./engines.ts";
import { type AdapterScales, baseScales, scalesFor } from "./llama-cpp.ts";
import { adapterLoads, lateAdapter, loadWaitMs } from "./load.ts";
import { ReplicaAdapters } from "./replica-adapters.ts";

type ChatHandler = Handler<"text-generation">;
type ChatAnswer = ReturnType<ChatHandler>;

/** For a request that names an adapter, and for all requests of an engine that may apply adapters by itself. */
export async function withAdapter(input: ChatInput, call: Call, generate: ChatHandler): ChatAnswer {
	const { adapters: settings } = call.target;
	const { lora, ...base } = input;
	if (settings?.engine === "llama.cpp") return withScales(input, call, generate);
	const adapter = lora === undefined ? undefined : await findAdapter(lora, call);
	// Adapters that the engine has from its start: `loras` of the route.
	if (lora === undefined || !adapter) return generate(input, call);
	if (!settings) throw missingSetting(call);
	const engine = ADAPTER_ENGINES[settings.engine];
	const named = nameAdapter(call, engine, adapter);
	if (!engine.routes) {
		if (settings.folder !== undefined) await writeFolder(adapter, call);
		return generate(base, named);
	}
	return withLoaded(
		{ adapter, lora, base, named, engine: { ...engine, routes: engine.routes } },
		call,
		generate,
	);
}

/** Other requests may wait for the same write, so it continues after this caller has left. */
function writeFolder(adapter: AccountAdapter, call: Call): Promise<void> {
	const written = adapter.writeTo(call.target.backend);
	call.services.waitUntil(written.catch(() => {}));
	return withTimeout(written, loadWaitMs(call), () => lateAdapter(call, adapter), { left: call.signal });
}

const missingSetting = ({ model, target }: Call): AiError =>
	failureOfTarget(
		target,
		"loraUnsupported",
		`has no fine-tunes for the model ${model.id}: its setting adapters says where the engine reads them (docs/adapters.md)`,
		{ retryable: true },
	);

/** The call, whose model is the adapter. */
const nameAdapter = (call: Call, { modelOf }: AdapterEngine, { id }: AccountAdapter): Call => ({
	...call,
	target: { ...call.target, model: modelOf(call.target.model, id) },
});

interface LoadedChat {
	adapter: AccountAdapter;
	/** As the request names it. */
	lora: string;
	base: ChatInput;
	named: Call;
	engine: AdapterEngine & { routes: NonNullable<AdapterEngine["routes"]> };
}

async function withLoaded(
	{ adapter, lora, base, named, engine }: LoadedChat,
	call: Call,
	generate: ChatHandler,
): ChatAnswer {
	for (let tries = 1; ; tries++) {
		// The replica that processes the prompt for the other needs the adapter too.
		for (const target of call.prefill ? [call.target, call.prefill.target] : [call.target])
			await useAdapter(adapter, lora, engine, { ...call, target });
		let isAbsent = false;
		const refusal: Call["refusal"] = (refused) => {
			isAbsent = lacksAdapter(refused, engine);
			return named.refusal?.(refused);
		};
		try {
			return await generate(base, { ...named, refusal });
		} catch (error) {
			// The engine has started anew.
			if (isAbsent) forget(adapter, call);
			if (!isAbsent || tries > 1) throw error;
		}
	}
}

/** Until the request has ended. */
async function useAdapter(
	adapter: AccountAdapter,
	lora: string,
	engine: LoadedChat["engine"],
	call: Call,
): Promise<void> {
	const { adapters: settings, url } = call.target;
	const loads = adapterLoads(adapter, engine, call);
	const release = await replicaOf(call.target).use(adapter.id, settings?.maxLoaded ?? 1, loads);
	holders.add(url, lora, adapter.id);
	void call.adapters?.ended.then(release);
}

function forget({ id }: AccountAdapter, { target, prefill }: Call): void {
	for (const one of prefill ? [target, prefill.target] : [target]) {
		replicaOf(one).forget(id);
		holders.delete(one.url, id);
	}
}

const ABSENT_STATUSES: readonly (number | undefined)[] = [400, 404];

const lacksAdapter = ({ status, body }: Refusal, { absent }: AdapterEngine): boolean =>
	ABSENT_STATUSES.includes(status) && absent.test(readError(body).message ?? "");

/** Of one backend, with those that were removed. Those that are forgotten are asked again. */
const MAX_REPLICAS = 1_000;

/** By backend, then by the address of the replica. */
const replicas = new WeakMap<object, Map<string, ReplicaAdapters>>();

function replicaOf(target: Target): ReplicaAdapters {
	const owner = target.observed ?? target;
	const known = replicas.get(owner) ?? new BoundedMap<string, ReplicaAdapters>(MAX_REPLICAS);
	replicas.set(owner, known);
	const replica = known.get(target.url) ?? new ReplicaAdapters();
	known.set(target.url, replica);
	return replica;
}

async function withScales(input: ChatInput, call: Call, generate: ChatHandler): ChatAnswer {
	const { lora, ...base } = input;
	if (lora === undefined) return generate(base, withField(call, await baseScales(call)));
	const own = await findAdapter(lora, call);
	// An adapter of another account may have the name of a file.
	const name = own?.id ?? (allowsAdapter(lora, call) ? lora : undefined);
	const scales = name === undefined ? undefined : await scalesFor(name, call);
	if (!scales)
		throw failureOfTarget(
			call.target,
			"loraUnsupported",
			own
				? `has no adapter ${own.id}.gguf: llama.cpp takes adapters at its start (docs/adapters.md)`
				: "has no such adapter: it is no fine-tune of the account, and not in loras of the route",
			{ retryable: true },
		);
	return generate(base, withField(call, scales));
}

const withField = (call: Call, lora: AdapterScales | undefined): Call =>
	lora
		? { ...call, target: { ...call.target, requestFields: { ...call.target.requestFields, lora } } }
		: call;
