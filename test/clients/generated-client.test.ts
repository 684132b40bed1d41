/** A client generated from `GET /openapi.json` (openapi-typescript, openapi-fetch): its types compile, and its calls succeed. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";

const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

/** Each use of a wrong name or type has an error that TypeScript expects. */
const CLIENT = `
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

const client = createClient<paths>({ baseUrl: process.env.GATEWAY ?? "" });
const path = { account: "generated" };

const health = await client.GET("/health");
const models = await client.GET("/client/v4/accounts/{account}/ai/models/search", {
	params: { path, query: { search: "llama-3.3" } },
});
const run = await client.POST("/client/v4/accounts/{account}/ai/run/{model}", {
	params: { path: { ...path, model: ${JSON.stringify(MODEL)} } },
	body: { prompt: "Reply with exactly: hi" },
	// The id of a model has slashes.
	pathSerializer: (pattern, values) => pattern.replace(/\\{(\\w+)\\}/g, (_, name) => String(values[name])),
});
const usage = await client.GET("/client/v4/accounts/{account}/ai/usage", { params: { path } });
const missing = await client.GET("/client/v4/accounts/{account}/ai/aliases/{alias}", {
	params: { path: { ...path, alias: "absent" } },
});
// @ts-expect-error The parameter is required.
void (() => client.GET("/client/v4/accounts/{account}/ai/models/schema", { params: { path } }));
// @ts-expect-error There is no such path.
void (() => client.GET("/client/v4/accounts/{account}/ai/nothing"));

const status: "ok" | "ready" | "unavailable" | undefined = health.data?.status;
const names: string[] = models.data?.result.map(({ name }) => name) ?? [];
const requests: number | undefined = usage.data?.result_info.totals.requests;
const code: number | undefined = missing.error?.errors[0]?.code;
console.log(JSON.stringify({ status, names, run: run.data, requests, code }));
`;

/** It has a TypeScript of its own: it needs the JavaScript API of TypeScript 5, which TypeScript 7 does not have. */
const GENERATOR = resolve("node_modules/openapi-typescript/bin/cli.js");

let folder = "";
beforeAll(() => {
	// In the project, so that the client finds its library.
	folder = mkdtempSync(join(resolve("dist"), "openapi-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("a generated client", () => {
	it("compiles and runs", async () => {
		const url = new URL(inject("baseURL")).origin;
		const document = await (await fetch(`${url}/openapi.json`)).text();
		const file = join(folder, "openapi.json");
		writeFileSync(file, document);
		execFileSync(process.execPath, [GENERATOR, file, "-o", join(folder, "api.d.ts")], { stdio: "pipe" });
		writeFileSync(join(folder, "client.ts"), CLIENT);
		writeFileSync(
			join(folder, "tsconfig.json"),
			JSON.stringify({
				compilerOptions: {
					target: "es2024",
					lib: ["es2024", "dom"],
					module: "esnext",
					moduleResolution: "bundler",
					types: ["node"],
					strict: true,
					noUncheckedIndexedAccess: true,
					allowImportingTsExtensions: true,
					noEmit: true,
				},
				include: ["*.ts"],
			}),
		);
		execFileSync(process.execPath, [resolve("node_modules/typescript/bin/tsc"), "-p", folder], {
			stdio: "inherit",
		});
		const output = execFileSync(process.execPath, [join(folder, "client.ts")], {
			env: { ...process.env, GATEWAY: url },
			encoding: "utf8",
		});
		expect(JSON.parse(output)).toMatchObject({
			status: "ok",
			names: [MODEL],
			run: { result: { response: "hi" } },
			// The record of the run may be written after this request.
			requests: expect.any(Number),
			code: 7002,
		});
	});
});
