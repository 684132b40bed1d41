/** The kind `pgvector` over TLS, by a gateway as `ganglion serve` starts it: the certificate is verified. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { trustedCertificates } from "../../../scripts/trusted-certificates.ts";
import { startGateway } from "../../clients/gateway.ts";
import { startPostgres, startTls } from "./postgres.ts";

const CA = "test/fixtures/tls/ca.pem";
let server: Awaited<ReturnType<typeof startPostgres>>;
let tls: Awaited<ReturnType<typeof startTls>>;
beforeAll(async () => {
	server = await startPostgres();
	tls = await startTls(server.port);
});
afterAll(async () => {
	tls.stop();
	await server.stop();
});

async function created(vars: Record<string, string>, host = "localhost") {
	const url = `postgres://postgres@${host}:${tls.port}/postgres?sslmode=verify-full`;
	const store = { kind: "pgvector", url, key: "PG_PASSWORD", max_connections: 1 };
	const gateway = await startGateway({
		VECTORS: JSON.stringify({ stores: { pg: store }, default_store: "pg" }),
		PG_PASSWORD: "not-checked-by-this-server",
		...vars,
	});
	const call = async (path: string, body: object) => {
		const response = await fetch(`${gateway.baseURL}/accounts/local/vectorize/v2/indexes${path}`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(body),
		});
		// biome-ignore lint/suspicious/noExplicitAny: the tests compare it.
		return { status: response.status, ...((await response.json()) as any) };
	};
	try {
		const name = `docs-${host.length}`;
		const { errors, status } = await call("", { name, config: { dimensions: 2, metric: "cosine" } });
		if (status !== 201) return { status, message: errors[0].message };
		await call(`/${name}/upsert`, { vectors: [{ id: "a", values: [1, 0] }] });
		const { result } = await call(`/${name}/query`, { vector: [1, 0] });
		return { status, result };
	} finally {
		await gateway.stop();
	}
}

describe("a server with TLS", () => {
	it("is used if NODE_EXTRA_CA_CERTS has its authority", async () => {
		expect(await created({ NODE_EXTRA_CA_CERTS: CA })).toEqual({
			status: 201,
			result: { count: 1, matches: [{ id: "a", score: 1 }] },
		});
		expect(tls.encrypted()).toBeGreaterThan(2);
	});

	it("is refused if its authority is unknown, or the certificate is for another host", async () => {
		const refused = { status: 502, message: 'The vector store "pg" cannot be reached' };
		expect(await created({})).toEqual(refused);
		expect(await created({ NODE_EXTRA_CA_CERTS: CA }, "127.0.0.1")).toEqual(refused);
	});
});

describe("NODE_EXTRA_CA_CERTS", () => {
	it("is read as PEM, and named if it has no certificate", () => {
		expect(trustedCertificates(undefined)).toEqual([]);
		expect(trustedCertificates(CA)).toEqual([expect.stringMatching(/^-----BEGIN CERTIFICATE-----/)]);
		expect(() => trustedCertificates("package.json")).toThrow(
			"NODE_EXTRA_CA_CERTS: package.json has no certificate in PEM format",
		);
	});
});
