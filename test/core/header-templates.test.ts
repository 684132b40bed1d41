import { expect, it } from "vitest";
import { HeaderTemplates } from "../../src/core/header-templates.ts";

const fixed = () => ({ "x-backend": "lab" });

it("a response keeps the values that it had, also after the next one", () => {
	const templates = new HeaderTemplates();
	const first = new Response("a", { headers: templates.fill("lab", fixed, { "x-id": "1" }) });
	const second = new Response("b", { headers: templates.fill("lab", fixed, { "x-id": "2" }) });
	expect(Object.fromEntries(first.headers)).toMatchObject({ "x-backend": "lab", "x-id": "1" });
	expect(Object.fromEntries(second.headers)).toMatchObject({ "x-backend": "lab", "x-id": "2" });
});

it("a response gets no value of another one whose headers were refused", () => {
	const templates = new HeaderTemplates();
	templates.fill("lab", fixed, { "x-id": "1", "x-name": "a" });
	expect(() => templates.fill("lab", fixed, { "x-id": "2", "x-name": "line\nbreak" })).toThrow(TypeError);
	const third = templates.fill("lab", fixed, { "x-id": "3", "x-name": "c" });
	expect([...third]).toEqual([
		["x-backend", "lab"],
		["x-id", "3"],
		["x-name", "c"],
	]);
});

it("the fixed ones are made once for each key", () => {
	const templates = new HeaderTemplates();
	let made = 0;
	const count = () => {
		made++;
		return fixed();
	};
	templates.fill("lab", count, {});
	templates.fill("lab", count, {});
	expect(made).toBe(1);
	templates.fill("other", count, {});
	expect(made).toBe(2);
});

it("many keys do not fill the memory", () => {
	const templates = new HeaderTemplates();
	let made = 0;
	const count = () => {
		made++;
		return fixed();
	};
	for (let key = 0; key < 101; key++) templates.fill(String(key), count, {});
	templates.fill("0", count, {});
	expect(made).toBe(102);
});
