/**
 * The Miniflare plugin: a Worker's `env.AI`, `env.VECTORIZE` and bindings of AI Search in a local session.
 *
 * A binding in `unsafe.bindings` becomes the runtime's own `Ai` object (module `cloudflare-internal:ai-api`), as in a
 * deployment, connected to Ganglion; one of the type `vectorize` becomes an index (vectorize.ts), one of the types `ai_search` and
 * `ai_search_namespace` an instance or a namespace of AI Search (ai-search.ts). A binding in `services` becomes the gateway's RPC
 * entrypoint, also as in a deployment.
 * Miniflare calls these functions for every Worker of a session, and again on every reload.
 */
import { join } from "node:path";
import type { ParsedWorkerOptions, Plugin, ServiceDesignator, Worker_Binding } from "miniflare";
import * as z from "zod";
import type { Env } from "../src/config/headers.ts";
import { ConfigError } from "../src/config/index.ts";
import { isRecord } from "../src/core/json.ts";
import { isAiSearch, readSearch, type SearchFields, searchBinding, searchClass } from "./ai-search.ts";
import { announceEngines, withLocalEngines } from "./engines.ts";
import { announceModels, withLocalModels } from "./local-models.ts";
import { type BindingClass, nodeStub } from "./node-stub.ts";
import { readOptions, type Source } from "./options.ts";
import { isOffline } from "./recordings/mode.ts";
import {
	announceRecording,
	type RecordedBinding,
	recordedBindings,
	recorderServices,
} from "./recordings/recorded-binding.ts";
import { readRecordingOption } from "./recordings/settings.ts";
import { aiBinding, serviceName, servicesOf } from "./services.ts";
import { readIndex, vectorizeBinding } from "./vectorize.ts";

const PLUGIN_NAME = "ganglion";

interface LocalBinding {
	name: string;
	source: Source;
	/** Set for a service binding. The entrypoint is optional. */
	service?: { entrypoint?: string | undefined };
	/** Set for a binding of the type `vectorize`. */
	index?: ReturnType<typeof readIndex>["index"];
	/** Set for a binding of the types of AI Search. */
	search?: SearchFields;
	/** Set if answers are recorded. */
	recorded?: RecordedBinding;
}

export const ganglion: Plugin = {
	bindingTypeDescription: "AI",
	getBindings: async (options) => (await localBindings(options)).flatMap(workerBindings),
	async getNodeBindings(options) {
		const stubs = (await localBindings(options)).map(
			async (binding) => [binding.name, await nodeStub(classOf(binding))] as const,
		);
		return Object.fromEntries(await Promise.all(stubs));
	},
	async getServices({ log, options, sharedOptions, tmpPath }) {
		const root = join(sharedOptions.resourcePersistencePath ?? tmpPath, PLUGIN_NAME);
		const bindings = await localBindings(options);
		announceEngines((line) => log.info(line));
		announceModels((line) => log.info(line));
		const services = bindings.map(async ({ recorded, source }) => {
			if (recorded) announceRecording(recorded, (line) => log.info(line));
			return [...(await servicesOf(source, root)), ...(recorded ? await recorderServices(recorded) : [])];
		});
		return (await Promise.all(services)).flat();
	},
};

const classOf = ({ index, search, service }: LocalBinding): BindingClass =>
	index ? "vectorize" : search ? searchClass(search) : service ? "service" : "ai";

function workerBindings({ index, name, recorded, search, service, source }: LocalBinding): Worker_Binding[] {
	if (index) return [vectorizeBinding(name, source, index)];
	if (search) return [searchBinding(name, source, search)];
	if (recorded) return recordedBindings(recorded);
	if (service) return [{ name, service: designator(source, service.entrypoint) }];
	return [aiBinding(name, designator(source, "AI"))];
}

/** The account is in the props of the binding, which the Worker cannot change. */
function designator(source: Source, entrypoint: string | undefined): ServiceDesignator {
	const name = serviceName(source);
	if (source.kind === "url") return { name };
	const props = { json: JSON.stringify({ account: source.account }) };
	return { name, props, ...(entrypoint !== undefined && { entrypoint }) };
}

/** A binding of this plugin in Miniflare's configuration, which Miniflare's types do not describe. */
const OwnBinding = z.object({
	type: z.string(),
	dev: z.object({
		plugin: z.object({ name: z.literal(PLUGIN_NAME) }),
		options: z.record(z.string(), z.unknown()).default({}),
	}),
});
const TextBinding = z.object({ type: z.literal("text"), value: z.string() });

/** wrangler adds the deployment fields of a service binding to the options. */
const DeployedService = z.looseObject({ entrypoint: z.string().optional() });

/** wrangler puts a prefix before the types of `unsafe.bindings`. */
const isVectorize = (type: string): boolean => /^(?:unsafe:)?vectorize$/.test(type);

async function localBindings(options: ParsedWorkerOptions): Promise<LocalBinding[]> {
	// Older versions of Miniflare 4 pass other options to plugins.
	const { config }: Partial<ParsedWorkerOptions> = options;
	if (!config) throw new Error("The plugin ganglion needs wrangler 4.122 or newer");
	const bindings = Object.entries<unknown>(config.env ?? {});
	const texts = bindings.flatMap(([name, binding]): [string, string][] => {
		const text = TextBinding.safeParse(binding);
		return text.success ? [[name, text.data.value]] : [];
	});
	const env = { ...process.env, ...Object.fromEntries(texts) };
	const session = { env, root: options.dev.rootPath, worker: config.name };
	const found = bindings.map(async ([name, binding]): Promise<LocalBinding[]> => {
		const own = OwnBinding.safeParse(binding);
		if (!own.success) return [];
		const { dev, type } = own.data;
		try {
			if (isVectorize(type)) {
				const { index, others } = readIndex(dev.options);
				return [{ name, index, source: await sourceFor(others, env) }];
			}
			if (isAiSearch(type)) {
				const { others, search } = readSearch(type, dev.options);
				return [{ name, search, source: await sourceFor(others, env) }];
			}
			if (type !== "unsafe:service") return [await withSource({ name }, dev.options, session)];
			const {
				entrypoint,
				environment: _e,
				service: _s,
				type: _t,
				...own
			} = DeployedService.parse(dev.options);
			// A running gateway is reached over HTTP, which cannot carry RPC.
			if ("url" in own)
				throw new ConfigError(["dev.options.url: expected no such field of a service binding"]);
			return [await withSource({ name, service: { entrypoint } }, own, session)];
		} catch (error) {
			throw error instanceof ConfigError ? optionsError(error, name, config.name) : error;
		}
	});
	return (await Promise.all(found)).flat();
}

async function withSource(
	binding: Omit<LocalBinding, "source">,
	{ recordings, ...options }: Env,
	{ env, root, worker }: { env: Env; root: string; worker: string },
): Promise<LocalBinding> {
	const { name, service } = binding;
	const settings = readRecordingOption(recordings, { binding: name, env: process.env, root });
	const source =
		settings && isOffline(settings.mode)
			? offlineSource(options, env)
			: await sourceFor(options, env).catch((error: unknown) => {
					throw settings && error instanceof ConfigError ? withHint(error) : error;
				});
	if (!settings) return { ...binding, source };
	const target = designator(source, service ? service.entrypoint : "AI");
	return { ...binding, source, recorded: { name, worker, source, settings, target, isService: !!service } };
}

const withHint = ({ problems }: ConfigError): ConfigError =>
	new ConfigError([...problems, "with GANGLION_RECORDINGS=replay no engine and no key is needed"]);

/** The name of the backend of a session that replays. */
const OFFLINE = "recordings";

/**
 * The gateway of a session that replays: it calls no engine and needs no key. What is not recorded, its simulator answers. It has the models
 * of the options, because lists of models are not recorded.
 */
function offlineSource({ account, ALIASES, MODELS, ROUTES }: Env, env: Env): Source {
	const names = isRecord(ROUTES) ? Object.keys(ROUTES) : [];
	const routes = Object.fromEntries(names.map((name) => [name, [{ backend: OFFLINE }]]));
	const BACKENDS = { [OFFLINE]: { kind: "simulator" } };
	return readOptions(
		{ account, ALIASES, MODELS, ...(names.length > 0 && { BACKENDS, ROUTES: routes }) },
		env,
	);
}

async function sourceFor(options: Env, env: Env): Promise<Source> {
	const local = await withLocalModels(options, process.env);
	const settings = local ? local.options : await withLocalEngines(options, process.env);
	const source = readOptions(settings, { ...env, ...local?.secrets });
	return local && source.kind === "embedded" ? { ...source, written: options } : source;
}

function optionsError({ problems }: ConfigError, binding: string, worker: string): Error {
	const mistakes = problems.length === 1 ? "a mistake" : `${problems.length} mistakes`;
	const lines = problems.map((problem) => `  ${problem}`).join("\n");
	return new Error(
		`The binding ${binding} of the Worker ${worker} has ${mistakes} (plugin ganglion):\n${lines}`,
	);
}
