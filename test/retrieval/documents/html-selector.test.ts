import { describe, expect, it } from "vitest";
import { parseHtml } from "../../../src/retrieval/documents/html-parse.ts";
import { selectElements } from "../../../src/retrieval/documents/html-select.ts";
import { Work } from "../../../src/retrieval/documents/work.ts";

const PAGE =
	'<!doctype html><html id=root><body id=bd><form id=f><div id=t1 class="md:w-1 1st é 😀"></div><p id=t2 class=""></p><p id=t3 class="a&nbsp;b"></p><p id=t4 class="A x"></p><input id=t5 type=CHECKBOX checked><input id=t6 disabled required><input id=t7><select id=t8 required></select><button id=t9></button><a id=t10 href=/x rel="NoFollow me" hreflang=EN lang=EN title=Ab></a><link id=t11 href=x><a id=t12></a><span id=t13 data-x="]:x" data-y="a (b" data-z="K" title=""></span><span id=t14 data-x="ONE two" lang=en-US></span><span id=t15 data-x="one&#160;two"></span><svg id=t16 viewBox=1><foreignObject id=t17></foreignObject><clipPath id=t18></clipPath></svg><option id=t19 selected></option><textarea id=t20 disabled></textarea><fieldset id=t21 disabled></fieldset><menuitem id=t22 disabled checked type=checkbox></menuitem><object id=t23></object><input id=t24 type=hidden required><img id=t25 class="-x --y _z"><i id=10></i><i id="a.b:c"></i><i id=t26 data-x="a&quot;b"></i><i id=t27 data-x="back\\slash"></i></form></body></html>';

const selected = (selector: string): string[] => {
	const work = new Work();
	return selectElements(parseHtml(PAGE, work), selector, work).map(({ properties }) => String(properties.id));
};

/** The ids of the outermost elements that Chromium's `querySelectorAll` finds in the page. */
const CHROMIUM: [selector: string, ids: string][] = [
	["DIV", "t1"],
	["div.É", ""],
	["div.é", "t1"],
	[".😀", "t1"],
	[".md\\:w-1:first-child", "t1"],
	["div:not(.x\\:y)", "t1"],
	[".\\31 st", "t1"],
	["#\\31\n0, #t1", "t1 10"],
	["#\\000031 0", "10"],
	["#a\\.b\\:c", "a.b:c"],
	["#a\\.b\\3a c", "a.b:c"],
	[".\\1f600", "t1"],
	[".\\d800", ""],
	["p[class='']", "t2"],
	["[class~='']", ""],
	[".a", ""],
	[".a\\a0 b", "t3"],
	[".A", "t4"],
	[".a.x", ""],
	["[class=a]", ""],
	[".-x.--y._z", "t25"],
	["[data-x~=two]", "t14"],
	["[data-x~=TWO]", ""],
	["[data-x~=TWO I]", "t14"],
	["[rel=nofollow]", ""],
	["[rel~=nofollow]", "t10"],
	["[hreflang=en]", "t10"],
	["[lang|=en]", "t10 t14"],
	["[title=ab]", ""],
	["[title=A\\62]", "t10"],
	["[TYPE=checkbox]", "t5 t22"],
	["[data-z=k i]", "t13"],
	['[data-x="]:x"]', "t13"],
	["[data-y='a (b'] + span", "t14"],
	[":not([data-x=')'])[data-y]", "t13"],
	["[data-x='a\\\"b']", "t26"],
	["[data-x='a\\22 b']", "t26"],
	["[data-x='back\\\\slash']", "t27"],
	["[title^=''], [title*='']", ""],
	["[title = 'Ab' ]", "t10"],
	["[*|rel=nofollow]", ""],
	[":enabled", "t5 t7 t8 t9 t19 t24"],
	[":disabled", "t6 t20 t21"],
	[":required", "t6 t8"],
	["select:optional, textarea:optional, p:optional", "t20"],
	[":checked", "t5 t19"],
	[":any-link", "t10"],
	[":link", "t10"],
	["foreignobject", "t17"],
	["CLIPPATH", "t18"],
	["[viewBox]", "t16"],
	["*|p.x", "t4"],
	["INPUT[TYPE=checkbox]:CHECKED", "t5"],
	["P:NOT(.x)", "t2 t3"],
	["p:nth-child(ODD)", "t3"],
	["p:Nth-Child(2N + 1 )", "t3"],
	["p:nth-child(+3)", "t3"],
	["p:nth-child(+n+4)", "t4"],
	["p:nth-child(-n+ 3)", "t2 t3"],
	["html:first-child", "root"],
	["body>form >p", "t2 t3 t4"],
	["p ~ p", "t3 t4"],
	["p\f+\fp", "t3 t4"],
	["p/* c */.x", "t4"],
	["p /* > */ + p", "t3 t4"],
	[":is( #t2 , #t4 )", "t2 t4"],
	[":not(:not(p))", "t2 t3 t4"],
	["*:not(*)", ""],
	["[title", "t10 t13"],
	["[title='Ab", "t10"],
	[":is(p", "t2 t3 t4"],
];

describe("selectors", () => {
	it.each(CHROMIUM)("%j", (selector, ids) => {
		expect(selected(selector).join(" ")).toBe(ids);
	});

	it.each(["p)", "foo|p", "p,", "p,,p", "p >", "> p", "p > > p", "", "p.", "#1", "[title=]", "p!", ":not()"])(
		"%j is refused, as in Chromium",
		(selector) => {
			expect(() => selected(selector)).toThrow(/^The cssSelector (?:cannot be read|has )/);
		},
	);

	it.each([
		["p::before", "'::before'"],
		["p:before", "':before'"],
		["p:has(b)", "':has'"],
		[":is(p, :hover)", "':hover'"],
		["p:matches(p)", "':matches'"],
		["|p", "a namespace"],
		["[foo|title]", "a namespace"],
		["p:not(.a .b)", "a combinator inside parentheses"],
		["p:is(> .b)", "a combinator inside parentheses"],
	])("%s is refused with its name, although Chromium may accept it", (selector, what) => {
		expect(() => selected(selector)).toThrow(`The cssSelector has ${what}, which is not supported`);
	});

	it("the modifier s compares a value exactly", () => {
		expect([selected("[lang=EN s]"), selected("[lang=en s]")]).toEqual([["t10"], []]);
	});

	it("types of input that ignore required are not required", () => {
		expect(selected("[required]:optional")).toEqual(["t24"]);
	});
});
