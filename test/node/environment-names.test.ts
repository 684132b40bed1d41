import { expect, it } from "vitest";
import { misspelledInEnvironment } from "../../scripts/environment-names.ts";
import { warnings } from "../../scripts/settings.ts";
import { configure } from "../../src/config/index.ts";

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
	"NODE_OPTIONS",
	"OPENAI_API_KEY",
	"npm_config_cache",
])("%s is no misspelled setting", (name) => expect(read(name)).toEqual([]));

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
