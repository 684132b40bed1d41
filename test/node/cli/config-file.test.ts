/** Variables and secrets of a configuration, compared with those that wrangler reads from the same files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unstable_getVarsForDev as getVarsForDev, unstable_readConfig as readConfig } from "wrangler";
import { readVariables } from "../../../scripts/config-file.ts";
import { configure } from "../../../src/config/index.ts";

let folder = "";
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-config-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): string => {
	const file = join(folder, name);
	writeFileSync(file, text);
	return file;
};

/** What wrangler reads. */
function expected(config: string, env?: string): { vars: object; secrets: object } {
	const { vars, userConfigPath } = readConfig({ config, env }, { hideWarnings: true });
	const bindings = Object.entries(getVarsForDev(userConfigPath, undefined, vars, env, true));
	const pick = (secret: boolean) =>
		Object.fromEntries(
			bindings
				.filter(([, { type }]) => (type === "secret_text") === secret)
				.map(([name, binding]) => [name, secret ? binding.value : vars[name]]),
		);
	return { vars: pick(false), secrets: pick(true) };
}

const JSONC = `{
	// a comment
	"name": "x",
	"vars": { "TEXT": "a", "ROUTES": { "*": [] }, },
	"env": { "staging": { "vars": { "TEXT": "staging" } }, "empty": {} },
}`;
const TOML = 'name = "x"\n[vars]\nTEXT = "a"\nNUMBER = 3\n[env.staging.vars]\nTEXT = "b"\n';

describe("readVariables", () => {
	it.each([
		["wrangler.jsonc", JSONC, undefined],
		["wrangler.jsonc", JSONC, "staging"],
		["wrangler.jsonc", JSONC, "empty"],
		["wrangler.toml", TOML, undefined],
		["wrangler.toml", TOML, "staging"],
	])("reads %s like wrangler", (name, text, env) => {
		const config = write(name, text);
		const { vars, secrets } = readVariables({ config, env });
		expect({ vars, secrets }).toEqual(expected(config, env));
	});

	const FILES = {
		".dev.vars": "A=1\nB='two words' # comment\nTEXT=secret\n",
		".dev.vars.staging": "A=staging\n",
		".env": "A=env\nC=$A/c\nD=x\n",
		".env.local": "A=local\n",
		".env.staging": "D=staging\n",
		".env.staging.local": "A=staging-local\n",
	};
	it.each([
		[[".dev.vars", ".env"], undefined],
		[[".dev.vars", ".dev.vars.staging"], "staging"],
		[[".dev.vars", ".env.staging"], "staging"],
		[[".env", ".env.local", ".env.staging"], undefined],
		[[".env", ".env.local", ".env.staging", ".env.staging.local"], "staging"],
		[[".env"], undefined],
		[[], undefined],
	] as const)("reads secrets from %j like wrangler, environment %s", (names, env) => {
		const config = write("wrangler.jsonc", JSONC);
		for (const name of names) write(name, FILES[name]);
		const { vars, secrets } = readVariables({ config, env });
		expect({ vars, secrets }).toEqual(expected(config, env));
		expect(Object.keys(secrets).length > 0).toBe(names.length > 0);
	});

	it("reads the secrets of a folder without a configuration", () => {
		write(".dev.vars", "KEY=1");
		expect(readVariables({ folder })).toEqual({ vars: {}, secrets: { KEY: "1" }, bindings: {} });
	});

	it("has bindings of the names that settings may name", () => {
		const config = write(
			"w.json",
			JSON.stringify({
				ai: { binding: "AI" },
				services: [{ binding: "OTHER", service: "ganglion" }],
				r2_buckets: [{ binding: "MANUALS", bucket_name: "manuals" }],
				hyperdrive: [{ binding: "PG", id: "1" }],
				vectorize: [{ binding: "DOCS", index_name: "docs" }],
				env: { staging: { r2_buckets: [{ binding: "STAGED", bucket_name: "staged" }] } },
			}),
		);
		const { bindings } = readVariables({ config });
		expect(
			configure({
				...bindings,
				BACKENDS: { a: { kind: "workers-ai", binding: "AI" }, b: { kind: "workers-ai", binding: "OTHER" } },
				AI_SEARCH: { buckets: { manuals: { binding: "MANUALS" } } },
				VECTORS: {
					stores: {
						pg: { kind: "pgvector", hyperdrive: "PG" },
						hosted: { kind: "vectorize", binding: "DOCS", only: "local/docs" },
					},
				},
			}),
		).toBeTruthy();
		expect(Object.keys(readVariables({ config, env: "staging" }).bindings)).toEqual(["STAGED"]);
	});

	it("names a file that does not exist, and a folder", () => {
		const config = join(folder, "absent.jsonc");
		expect(() => readVariables({ config })).toThrow(`${config}: there is no such file`);
		expect(() => readVariables({ config: folder })).toThrow(
			`${folder}: a folder has this name, where a file is needed (EISDIR)`,
		);
	});

	it.each([".env", ".dev.vars"])("says in words why %s cannot be read", (name) => {
		const config = write("w.json", "{}");
		mkdirSync(join(folder, name));
		const reason = "a folder has this name, where a file is needed (EISDIR)";
		expect(() => readVariables({ config })).toThrow(`${join(folder, name)}: ${reason}`);
	});

	it("refuses vars that are no object", () =>
		expect(() => readVariables({ config: write("w.json", '{"vars":"KEY=secret"}') })).toThrow(
			/w\.json: vars: /,
		));

	it.each([
		["BACKENDS", '{"BACKENDS":{}}', 'BACKENDS: expected it inside "vars", found it beside "vars"'],
		["ROUTES", '{"vars":{},"ROUTES":{}}', 'ROUTES: expected it inside "vars", found it beside "vars"'],
		["var", '{"var":{"BACKENDS":{}}}', 'var: expected no such field; did you mean "vars"?'],
		[
			"ROUTES of an environment",
			'{"env":{"test":{"ROUTES":{}}}}',
			'env.test.ROUTES: expected it inside "vars", found it beside "vars"',
		],
	])("refuses %s outside vars, where it has no effect", (_, json, problem) =>
		expect(() => readVariables({ config: write("w.json", json) })).toThrow(problem),
	);

	it("refuses an environment that the file does not have, with the one that is meant", () => {
		const config = write("w.json", '{"env":{"staging":{},"production":{}}}');
		expect(() => readVariables({ config, env: "stagin" })).toThrow(
			'--env: expected "staging" or "production", found "stagin"; did you mean "staging"?',
		);
	});

	it("refuses an environment without a file, unless it has secrets of its own", () => {
		const read = () => readVariables({ folder, env: "staging" });
		const refusal = '--env: no configuration file is read, so there is no environment "staging": ';
		expect(read).toThrow(`${refusal}name the file with --config`);
		write("wrangler.toml", TOML);
		expect(read).toThrow(`${refusal}use --config wrangler.toml`);
		write(".env.staging.local", "A=1\n");
		expect(read().secrets).toEqual({ A: "1" });
	});
});
