/** The stores of `VECTORS.stores`, by their kind. Their secrets are named. */
import * as z from "zod";
import type { PgvectorSetting, PostgresServer } from "../retrieval/vectors/stores/store-settings.ts";
import { kindOf } from "../schemas/explain.ts";
import { positiveCount } from "./amounts.ts";
import { type Env, secret } from "./headers.ts";

const POSTGRES_PORT = 5432;
const DEFAULT_SCHEMA = "ganglion";
const DEFAULT_CONNECTIONS = 10;
const MAX_CONNECTIONS = 1_000;
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
	const hasTls = TLS_MODES[sslmode];
	if (hasTls === undefined || Object.keys(others).length > 0)
		return refuse(`no parameter but sslmode: ${Object.keys(TLS_MODES).join(", ")}`);
	return {
		...{ hostname: url.hostname, port: Number(url.port || POSTGRES_PORT), database, hasTls },
		user: decodeURIComponent(url.username),
	};
});

type Hyperdrive = Pick<globalThis.Hyperdrive, "connectionString">;

const hyperdrive = (env: Env) =>
	z.unknown().transform((name, context): Hyperdrive => {
		const bound = typeof name === "string" ? env[name] : undefined;
		if (isHyperdrive(bound)) return bound;
		const found = typeof name === "string" ? "text that names no binding" : kindOf(name);
		context.addIssue(`expected the name of a Hyperdrive binding of this Worker, found ${found}`);
		return z.NEVER;
	});

const isHyperdrive = (bound: unknown): bound is Hyperdrive =>
	typeof bound === "object" &&
	bound !== null &&
	"connectionString" in bound &&
	typeof bound.connectionString === "string";

const pgvector = (env: Env) =>
	z
		.strictObject({
			kind: z.literal("pgvector"),
			url: PostgresUrl.optional(),
			/** The name of a secret: the password. */
			key: secret(env).optional(),
			hyperdrive: hyperdrive(env).optional(),
			schema: z
				.string()
				.regex(/^[a-z_][a-z0-9_]{0,62}$/, {
					error: "expected up to 63 lower-case letters, digits and '_', found another text",
				})
				.default(DEFAULT_SCHEMA),
			max_connections: positiveCount.max(MAX_CONNECTIONS).default(DEFAULT_CONNECTIONS),
		})
		.transform(
			({ hyperdrive: bound, key = "", kind, max_connections, schema, url }, context): PgvectorSetting => {
				const common = { kind, schema, maxConnections: max_connections };
				if (url && !bound) return { ...common, server: { ...url, password: key } };
				if (bound && !url && key === "") return { ...common, server: { hyperdrive: bound } };
				context.addIssue("expected either url with key, or hyperdrive");
				return z.NEVER;
			},
		);

export const storeSetting = (env: Env) => pgvector(env);
