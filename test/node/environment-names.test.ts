import { globSync, readFileSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import { misspelledConnection } from "../../scripts/command-names.ts";
import { misspelledInEnvironment } from "../../scripts/environment-names.ts";
import { configureNaming, fromEnvironment, warnings } from "../../scripts/settings.ts";
import { configure } from "../../src/config/index.ts";

afterEach(() => void vi.unstubAllEnvs());

const SECRET = "sk-very-secret";
const read = (name: string, used: string[] = []) =>
	misspelledInEnvironment({ [name]: SECRET }, new Set(used));

it.each([
	["ROUTE", "ROUTES"],
	["BACKEND", "BACKENDS"],
	["LIMIT", "LIMITS"],
	["ADMIN_TOKN", "ADMIN_TOKEN"],
	["ALLOW_ANONYMUS", "ALLOW_ANONYMOUS"],
	["GANGLON_URL", "GANGLION_URL"],
	["GANGLION_TOEKN", "GANGLION_TOKEN"],
])("%s of the environment is probably %s", (name, meant) => {
	expect(read(name)).toEqual([
		`${name} of the environment: no setting has this name, so it has no effect; did you mean "${meant}"?`,
	]);
});

it("Windows has one variable for all cases of a name", () => {
	const environment = {
		...{ routes: "{}", Admin_Token: SECRET, ganglion_guard: "{}", Ganglion_Key: SECRET, Path: "C:\\bin" },
		...{ ganglion_service_host: "10.0.0.1", Ganglion_Port: "80", rotues: "{}" },
	};
	const sentence = "of the environment: no setting has this name, so it has no effect";
	expect(misspelledInEnvironment(environment, new Set(["GANGLION_KEY"]), "win32")).toEqual([
		`rotues ${sentence}; did you mean "ROUTES"?`,
	]);
	expect(misspelledInEnvironment({ routes: "{}" }, new Set(), "linux")).toEqual([
		`routes ${sentence}; did you mean "ROUTES"?`,
	]);
	expect(misspelledConnection({ ganglion_url: "http://a" }, "win32")).toEqual([]);
	expect(misspelledConnection({ ganglion_url: "http://a" }, "linux")).toEqual([
		`ganglion_url ${sentence}; did you mean "GANGLION_URL"?`,
	]);
});

it("names every other variable of Ganglion that nothing reads", () => {
	expect(read("GANGLION_COLOUR")).toEqual([
		"GANGLION_COLOUR of the environment: no setting has this name, so it has no effect",
	]);
});

it.each([
	"ROUTES",
	"GANGLION_URL",
	"GANGLION_GUARD",
	"PATH",
	"HOME",
	"COLS",
	"CORES",
	"COLORS",
	"MODULES",
	"API_TOKEN",
	"NODE_OPTIONS",
	"OPENAI_API_KEY",
	"npm_config_cache",
])("%s is no misspelled setting", (name) => expect(read(name)).toEqual([]));

it("the names that Kubernetes sets for a service are none", () => {
	const names = [
		...["GANGLION_SERVICE_HOST", "GANGLION_SERVICE_PORT", "GANGLION_SERVICE_PORT_HTTP", "GANGLION_PORT"],
		...["", "_PROTO", "_PORT", "_ADDR"].map((end) => `GANGLION_PORT_80_TCP${end}`),
	];
	const environment = Object.fromEntries([...names, "GANGLION_COLOUR"].map((name) => [name, SECRET]));
	expect(misspelledInEnvironment(environment, new Set())).toEqual([
		"GANGLION_COLOUR of the environment: no setting has this name, so it has no effect",
	]);
	expect(read("GANGLION_PORT")).toHaveLength(1);
});

it("a name that the configuration reads is none, such as that of a secret", () => {
	expect(read("GANGLION_KEY", ["GANGLION_KEY"])).toEqual([]);
	const key = {
		BACKENDS: { gpu: { kind: "openai", url: "http://a", key: "GANGLION_KEY" } },
		GANGLION_KEY: "k",
	};
	expect(warnings(configure(key), key, { GANGLION_KEY: SECRET })).toBe("");
	const shown = warnings(configure(key), key, { ROUTE: SECRET });
	expect(shown).toContain('did you mean "ROUTES"?');
	expect(shown).not.toContain(SECRET);
});

const ROUTES = { "*": [{ backend: "vllm" }] };
const MISTAKE = `The configuration has a mistake:
  ROUTES["*"][0].backend: expected "simulator", found "vllm": BACKENDS is not set, so add this backend there`;

it.each([
	["of the environment", {}, { BACKEND: SECRET }, "BACKEND of the environment"],
	["of a configuration file", { BACKEND: SECRET }, {}, "BACKEND"],
	["of both", { BACKEND: SECRET }, { BACKEND: SECRET }, "BACKEND"],
])(
	"a mistake that stops the start is followed by a misspelled name %s",
	(_, variables, environment, name) => {
		expect(() => configureNaming({ ROUTES, ...variables }, environment)).toThrow(
			expect.objectContaining({
				message: `${MISTAKE}
Warnings:
  ${name}: no setting has this name, so it has no effect; did you mean "BACKENDS"?`,
			}),
		);
	},
);

it("a mistake without a misspelled name is alone", () => {
	expect(() => configureNaming({ ROUTES }, { PATH: "/bin", ROUTES: "{}" })).toThrow(
		expect.objectContaining({ message: MISTAKE }),
	);
});

it("a mistake in the environment is followed by its misspelled names, and by no name of a secret", () => {
	vi.stubEnv("ROUTES", JSON.stringify({ "*": [{ backend: "other" }] }));
	vi.stubEnv("BACKENDS", '{"vllm":{"kind":"openai","url":"http://a","key":"GANGLION_KEY"}}');
	vi.stubEnv("GANGLION_KEY", SECRET);
	vi.stubEnv("LIMIT", SECRET);
	expect(() => fromEnvironment({ vars: {}, secrets: {}, bindings: {} })).toThrow(
		expect.objectContaining({
			message: `The configuration has a mistake:
  ROUTES["*"][0].backend: expected "vllm" or "simulator", found "other"
Warnings:
  LIMIT of the environment: no setting has this name, so it has no effect; did you mean "LIMITS"?`,
		}),
	);
});

it("knows each name of Ganglion in the sources of the commands", () => {
	const sources = globSync("{cli,engine,miniflare,scripts}/**/*.ts").map((file) =>
		readFileSync(file, "utf8"),
	);
	const names = new Set(
		sources.flatMap((text) => text.match(/(?<="|\benv\.)GANGLION_[A-Z_]*[A-Z]\b/g) ?? []),
	);
	expect(names.size).toBeGreaterThan(8);
	expect([...names].flatMap((name) => read(name))).toEqual([]);
});

it("a command that calls a gateway names a misspelled address, account or token, unless the right one is set too", () => {
	const line = (name: string, meant: string) =>
		`${name} of the environment: no setting has this name, so it has no effect; did you mean "${meant}"?`;
	expect(misspelledConnection({ GANGLON_URL: "http://a", GANGLION_TOKN: SECRET, ROUTE: "{}" })).toEqual([
		line("GANGLON_URL", "GANGLION_URL"),
		line("GANGLION_TOKN", "GANGLION_TOKEN"),
	]);
	expect(misspelledConnection({ GANGLION_TOKEN2: SECRET, GANGLION_TOKEN: SECRET })).toEqual([]);
	expect(misspelledConnection({ GANGLION_HUB: "/hub", PATH: "/bin" })).toEqual([]);
});
