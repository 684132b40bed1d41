/**
 * Tests elements against one compound of a CSS selector (`p.intro:first-child`): its tag, id, classes, attributes, and the
 * pseudo-classes that depend on the element and its siblings only.
 */
import type { AstAttribute, AstFormula, AstPseudoClass, AstRule } from "css-selector-parser";
import type { Element, Properties } from "hast";
import type { Compound } from "./html-selector.ts";
import { ConversionFailure } from "./work.ts";

/** The position of an element among its siblings. Indexes count from 1. */
export interface ElementPlace {
	index: number;
	count: number;
	/** Among the siblings with the same tag. */
	typeIndex: number;
	typeCount: number;
}

export type Test = (element: Element, place: ElementPlace) => boolean;

/** Throws a `ConversionFailure` that names what is not supported. */
export function compoundTest(compound: Compound): Test {
	const tests = compound.map(testOf);
	return (element, place) => tests.every((test) => test(element, place));
}

const unsupported = (what: string): ConversionFailure =>
	new ConversionFailure(`The cssSelector has ${what}, which is not supported`);

function some(rules: readonly AstRule[]): Test {
	if (rules.some(({ combinator, nestedRule }) => combinator || nestedRule))
		throw unsupported("a combinator inside parentheses");
	const tests = rules.map(({ items }) => compoundTest(items));
	return (element, place) => tests.some((test) => test(element, place));
}

function testOf(item: AstRule["items"][number]): Test {
	switch (item.type) {
		case "WildcardTag":
			return () => true;
		case "TagName": {
			if (item.namespace && item.namespace.type !== "WildcardNamespace") throw unsupported("a namespace");
			const name = item.name.toLowerCase();
			return ({ tagName }) => tagName.toLowerCase() === name;
		}
		case "Id":
			return ({ properties }) => properties.id === item.name;
		case "ClassName":
			return ({ properties }) => classNames(properties).includes(item.name);
		case "Attribute":
			return attributeTest(item);
		case "PseudoClass":
			return pseudoClassTest(item);
		case "PseudoElement":
			throw unsupported(`'::${item.name}'`);
		default:
			throw unsupported(item.type);
	}
}

/** The words of an attribute. Other spaces than those of ASCII are part of a word. */
const wordsOf = (text: string): string[] => text.split(/[ \t\n\f\r]+/).filter((word) => word !== "");

export const classNames = (properties: Properties): string[] => wordsOf(String(properties.class ?? ""));

/** The HTML standard compares the values of these in any case ("Case-sensitivity of selectors"). */
const CASELESS = new Set(
	"accept accept-charset align alink axis bgcolor charset checked clear codetype color compact declare defer dir direction disabled enctype face frame hreflang http-equiv lang language link media method multiple nohref noresize noshade nowrap readonly rel rev rules scope scrolling selected shape target text type valign valuetype vlink".split(
		" ",
	),
);

/** Letters of ASCII. */
const lowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

function attributeTest({ name, namespace, operator, value, caseSensitivityModifier }: AstAttribute): Test {
	if (namespace?.type === "NamespaceName") throw unsupported("a namespace");
	const key = name.toLowerCase();
	const modifier = caseSensitivityModifier?.toLowerCase();
	const isCaseless = modifier === "i" || (modifier === undefined && CASELESS.has(key));
	const normalize = (text: string): string => (isCaseless ? lowerCase(text) : text);
	const expected = value?.type === "String" ? normalize(value.value) : undefined;
	return ({ properties }) => {
		const attribute = properties[key];
		if (typeof attribute !== "string") return false;
		return expected === undefined || hasValue(normalize(attribute), operator, expected);
	};
}

function hasValue(actual: string, operator: string | undefined, expected: string): boolean {
	switch (operator) {
		case "~=":
			return wordsOf(actual).includes(expected);
		case "|=":
			return actual === expected || actual.startsWith(`${expected}-`);
		case "^=":
			return expected !== "" && actual.startsWith(expected);
		case "$=":
			return expected !== "" && actual.endsWith(expected);
		case "*=":
			return expected !== "" && actual.includes(expected);
		default:
			return actual === expected;
	}
}

function pseudoClassTest({ name, argument }: AstPseudoClass): Test {
	if (argument?.type === "Selector") {
		const test = some(argument.rules);
		if (name === "is" || name === "where") return test;
		if (name === "not") return (element, place) => !test(element, place);
	}
	const counted = COUNTED.get(name);
	if (counted && argument?.type === "Formula") return (_, place) => isInSeries(argument, counted(place));
	const test = SIMPLE.get(name);
	if (!test || argument) throw unsupported(`':${name}'`);
	return test;
}

/** Whether `position` is `a * n + b` for an `n` of 0 or more. */
const isInSeries = ({ a, b }: AstFormula, position: number): boolean =>
	a === 0 ? position === b : (position - b) % a === 0 && (position - b) / a >= 0;

const COUNTED: ReadonlyMap<string, (place: ElementPlace) => number> = new Map([
	["nth-child", ({ index }) => index],
	["nth-last-child", ({ index, count }) => count + 1 - index],
	["nth-of-type", ({ typeIndex }) => typeIndex],
	["nth-last-of-type", ({ typeIndex, typeCount }) => typeCount + 1 - typeIndex],
]);

const LINKS = new Set(["a", "area"]);
const REQUIRABLE = new Set(["input", "textarea", "select"]);
const DISABLEABLE = new Set([...REQUIRABLE, "button", "optgroup", "option", "fieldset"]);
/** Types of `input` that ignore `required`. */
const NEVER_REQUIRED = new Set(["hidden", "range", "color", "submit", "image", "reset", "button"]);

const typeOf = ({ type = "" }: Properties): string => lowerCase(String(type));
const isLink: Test = ({ tagName, properties }) => LINKS.has(tagName) && properties.href !== undefined;
const isDisabled: Test = ({ properties }) => properties.disabled !== undefined;
const isRequired: Test = ({ tagName, properties }) =>
	properties.required !== undefined && !(tagName === "input" && NEVER_REQUIRED.has(typeOf(properties)));
const isChecked: Test = ({ tagName, properties }) =>
	tagName === "option"
		? properties.selected !== undefined
		: tagName === "input" &&
			["checkbox", "radio"].includes(typeOf(properties)) &&
			properties.checked !== undefined;

/** Elements of these tags for which `test` has the result. */
const among =
	(tags: ReadonlySet<string>, test: Test, result: boolean): Test =>
	(element, place) =>
		tags.has(element.tagName) && test(element, place) === result;

const SIMPLE: ReadonlyMap<string, Test> = new Map<string, Test>([
	["first-child", (_, { index }) => index === 1],
	["last-child", (_, { index, count }) => index === count],
	["only-child", (_, { count }) => count === 1],
	["first-of-type", (_, { typeIndex }) => typeIndex === 1],
	["last-of-type", (_, { typeIndex, typeCount }) => typeIndex === typeCount],
	["only-of-type", (_, { typeCount }) => typeCount === 1],
	["any-link", isLink],
	["link", isLink],
	["checked", isChecked],
	["disabled", among(DISABLEABLE, isDisabled, true)],
	["enabled", among(DISABLEABLE, isDisabled, false)],
	["required", among(REQUIRABLE, isRequired, true)],
	["optional", among(REQUIRABLE, isRequired, false)],
]);
