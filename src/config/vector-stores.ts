/** The stores of `VECTORS.stores`, by their kind. Their secrets are named. */
import * as z from "zod";
import { own } from "../core/own.ts";
import type {
	BoundVectorize,
	PgvectorSetting,
	PostgresServer,
	QdrantSetting,
	VectorizeSetting,
} from "../retrieval/vectors/stores/store-settings.ts";
import { positiveCount } from "./amounts.ts";
import { type Env, secret } from "./headers.ts";
import { namedBinding } from "./named-binding.ts";

const POSTGRES_PORT = 5432;
const DEFAULT_SCHEMA = "ganglion";
const DEFAULT_CONNECTIONS = 10;
const MAX_CONNECTIONS = 1_000;
const DEFAULT_EF_SEARCH = 100;
/** https://github.com/pgvector/pgvector#query-options */
const MAX_EF_SEARCH = 1_000;
const DEFAULT_PREFIX = "ganglion_";
const HOSTED_API = "https://api.cloudflare.com/client/v4";
const TLS_MODES: Readonly<Record<string, boolean>> = { disable: false, require: true, "verify-full": true };

/** https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING */
const PostgresUrl = z.string().transform((text, context): Omit<PostgresServer, "password"> => {
	const refuse = (problem: string) => {
		context.addIssue(`expected ${problem}, found another text`);
		return z.NEVER;
	};
	const url = URL.parse(text);
	const database = decodeURIComponent(url?.pathname.slice(1) ?? "");
	if (!url || !/^postgres(?:ql)?:$/.test(url.protocol) || !url.hostname || !url.username || !database)
		return refuse('an address such as "postgres://user@host:5432/database"');
	if (url.password) return refuse("an address without a password, which belongs into the secret of `key`");
	const { sslmode = "verify-full", ...others } = Object.fromEntries(url.searchParams);
	const hasTls = own(TLS_MODES, sslmode);
	if (hasTls === undefined || Object.keys(others).length > 0)
		return refuse(`no parameter but sslmode: ${Object.keys(TLS_MODES).join(", ")}`);
	return {
		...{ hostname: url.hostname, port: Number(url.port || POSTGRES_PORT), database, hasTls },
		user: decodeURIComponent(url.username),
	};
});

type Hyperdrive = Pick<globalThis.Hyperdrive, "connectionString">;

/** Not the text itself: the runtime makes it in a request, and refuses that at the start. */
const isHyperdrive = (bound: object): bound is Hyperdrive => "connectionString" in bound;

/** The fields of a server. `key`: the name of a secret with its password or its key. */
const server = <Kind extends string, Url extends z.ZodType>(kind: Kind, url: Url, env: Env) => ({
	kind: z.literal(kind),
	url,
	key: secret(env).optional(),
});

/** A name, or the beginning of names, that the gateway gives what it creates on a server. */
const ownName = (pattern: RegExp, expected: string) =>
	z.string().regex(pattern, { error: `expected ${expected}, found another text` });

const pgvector = (env: Env) =>
	z
		.strictObject({
			...server("pgvector", PostgresUrl.optional(), env),
			hyperdrive: namedBinding(env, "a Hyperdrive binding", isHyperdrive).optional(),
			schema: ownName(/^[a-z_][a-z0-9_]{0,62}$/, "up to 63 lower-case letters, digits and '_'").default(
				DEFAULT_SCHEMA,
			),
			max_connections: positiveCount.max(MAX_CONNECTIONS).default(DEFAULT_CONNECTIONS),
			ef_search: positiveCount.max(MAX_EF_SEARCH).default(DEFAULT_EF_SEARCH),
		})
		.transform(
			(
				{ ef_search, hyperdrive: bound, key = "", max_connections, url, ...fields },
				context,
			): PgvectorSetting => {
				const common = { ...fields, maxConnections: max_connections, efSearch: ef_search };
				if (url && !bound) return { ...common, server: { ...url, password: key } };
				if (bound && !url && key === "") return { ...common, server: { hyperdrive: bound } };
				context.addIssue("expected either url with key, or hyperdrive");
				return z.NEVER;
			},
		);

/** Without a slash at the end. */
const HttpUrl = z.string().transform((text, context) => {
	const url = URL.parse(text);
	const isPlain = url && /^https?:$/.test(url.protocol) && !url.search && !url.hash;
	if (isPlain && !url.username && !url.password) return url.href.replace(/\/+$/, "");
	context.addIssue('expected an address such as "https://host:6333" without credentials, found another text');
	return z.NEVER;
});

const qdrant = (env: Env) =>
	z
		.strictObject({
			...server("qdrant", HttpUrl, env),
			prefix: ownName(/^[A-Za-z0-9_-]{1,64}$/, "up to 64 letters, digits, '_' and '-'").default(
				DEFAULT_PREFIX,
			),
		})
		.transform(({ key = "", kind, prefix, url }): QdrantSetting => ({ kind, url, prefix, apiKey: key }));

const isVectorize = (bound: object): bound is BoundVectorize =>
	"queryById" in bound && typeof bound.queryById === "function";

const vectorize = (env: Env) =>
	z
		.strictObject({
			kind: z.literal("vectorize"),
			/** The id of an account of the product. */
			account: z
				.string()
				.regex(/^[\da-f]{32}$/, { error: "expected the 32 hexadecimal digits of an account id" })
				.optional(),
			/** The name of a secret: a token of the product. */
			key: secret(env).optional(),
			url: HttpUrl.default(HOSTED_API),
			binding: namedBinding(env, "a Vectorize binding", isVectorize).optional(),
			index: z.string().min(1).optional(),
			/** `account/index`: the only index of a store with `binding` or `index`. */
			only: z
				.string()
				.regex(/^[^/]+\/[^/]+$/, { error: 'expected an account and an index such as "team-a/docs"' })
				.optional(),
		})
		.transform(({ account, binding, index, key, kind, only, url }, context): VectorizeSetting => {
			const refuse = (problem: string) => {
				context.addIssue(problem);
				return z.NEVER;
			};
			if ((account === undefined) !== (key === undefined)) return refuse("expected account and key together");
			if (account === undefined && !binding) return refuse("expected account with key, or binding");
			if (account === undefined && index !== undefined) return refuse("expected account with key for index");
			if (account !== undefined && binding && index === undefined)
				return refuse("expected index: the name of the index that the binding has");
			const isOne = binding !== undefined || index !== undefined;
			if (isOne !== (only !== undefined))
				return refuse(
					isOne
						? 'expected only: the account and the index that are in this store, such as "team-a/docs"'
						: "expected binding or index with only",
				);
			const [ownAccount = "", ownIndex = ""] = only?.split("/") ?? [];
			return {
				kind,
				...(account !== undefined && { account: { url, id: account, token: key ?? "" } }),
				...(binding && { binding }),
				...(index !== undefined && { index }),
				...(only !== undefined && { only: { account: ownAccount, index: ownIndex } }),
			};
		});

export const storeSetting = (env: Env) =>
	z.discriminatedUnion("kind", [pgvector(env), qdrant(env), vectorize(env)]);
