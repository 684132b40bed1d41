/**
 * A list of replicas from a service of the operator: addresses, or objects with `url`, as a list or below `replicas` or `workers`
 * (SGLang's router); or Prometheus's HTTP service discovery, whose targets have no scheme:
 * https://prometheus.io/docs/prometheus/latest/http_sd/
 */
import * as z from "zod";
import { isRecord, parseJson } from "../core/json.ts";
import { lazy } from "../core/lazy.ts";
import { present } from "../core/present.ts";
import { explain } from "../schemas/explain.ts";
import { safeParse } from "../schemas/safe-parse.ts";
import { ROLES } from "./replica.ts";
import { type NamedReplica, type ReplicaRoles, roleProblem, rolesOf } from "./replica-roles.ts";

/** The addresses are without repetitions. */
export interface ReplicaList extends ReplicaRoles {
	urls: readonly string[];
}

const MAX_REPLICAS = 2_000;

const Port = lazy(() => z.int().min(1).max(65_535));
/** `worker_type`: SGLang's router has it, and `regular` for both. */
const Item = lazy(() =>
	z
		.object({
			url: z.string(),
			role: z.enum(ROLES).optional(),
			worker_type: z.enum(["regular", "prefill", "decode"]).optional(),
			bootstrap_port: Port().nullish(),
		})
		.transform(({ bootstrap_port, role, url, worker_type }) => {
			const stage = worker_type === "regular" ? "both" : worker_type;
			return [{ url, ...present({ role: role ?? stage, bootstrapPort: bootstrap_port }) }];
		}),
);
/** Values of labels are texts. */
const Group = lazy(() =>
	z
		.object({
			targets: z.array(z.string()),
			labels: z
				.object({ role: z.enum(ROLES).optional(), bootstrap_port: z.coerce.number().pipe(Port()).optional() })
				.optional(),
		})
		.transform(({ targets, labels: { role, bootstrap_port } = {} }) =>
			targets.map((target) => ({
				url: `http://${target}`,
				...present({ role, bootstrapPort: bootstrap_port }),
			})),
		),
);
const Address = lazy(() => z.string().transform((url) => [{ url }]));

/** A mistake in a list, with its path: `workers[1].role: …`. */
export class ListError extends Error {
	override readonly name = "ListError";
}

/**
 * Throws a `ListError` for the first mistake: a list is used completely, or not at all.
 * @param path added to an address without a path.
 * @param protocol how the stages of the pool transfer prompts. Absent: all replicas have the role `both`.
 */
export function parseReplicaList(text: string, path: string, protocol?: string): ReplicaList {
	const [name, items] = itemsOf(parseJson(text));
	const replicas = items.flatMap((item, i): NamedReplica[] => {
		const at = `${name}[${i}]`;
		const schema =
			typeof item === "string" ? Address() : isRecord(item) && "targets" in item ? Group() : Item();
		const parsed = safeParse(schema, item, { error: explain });
		if (!parsed.success) throw listError(at, parsed.error);
		return parsed.data.map((replica: NamedReplica) => {
			const url = baseUrl(replica.url, path);
			if (url === undefined)
				throw new ListError(`${at}: expected the http or https address of an engine, found another text`);
			const problem = roleProblem(replica, protocol);
			if (problem) throw new ListError(`${at}.${problem.field}: ${problem.message}`);
			return { ...replica, url };
		});
	});
	if (replicas.length > MAX_REPLICAS)
		throw new ListError(`expected at most ${MAX_REPLICAS} replicas, found ${replicas.length}`);
	return { urls: [...new Set(replicas.map(({ url }) => url))], ...rolesOf(replicas) };
}

function itemsOf(list: unknown): [string, readonly unknown[]] {
	if (Array.isArray(list)) return ["", list];
	for (const name of ["replicas", "workers"]) {
		const items = isRecord(list) ? list[name] : undefined;
		if (Array.isArray(items)) return [name, items];
	}
	throw new ListError('expected a list, or an object with a list "replicas" or "workers", found neither');
}

function listError(at: string, { issues: [issue] }: z.ZodError): ListError {
	const steps = issue?.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`));
	return new ListError(`${at}${steps?.join("") ?? ""}: ${issue?.message}`);
}

function baseUrl(address: string, path: string): string | undefined {
	const url = URL.parse(address);
	if (!url || !/^https?:$/.test(url.protocol)) return undefined;
	if (url.username || url.password || url.search || url.hash) return undefined;
	return `${url.origin}${url.pathname === "/" ? path : url.pathname}`.replace(/\/+$/, "");
}
