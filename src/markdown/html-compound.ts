/**
 * Tests elements against one compound of a CSS selector (`p.intro:first-child`): its tag, id, classes, attributes, and the
 * pseudo-classes that depend on the element and its siblings only.
 */
import {
	type AstAttribute,
	type AstFormula,
	type AstPseudoClass,
	type AstRule,
	createParser,
} from "css-selector-parser";
import type { Element, Properties } from "hast";

/** The position of an element among its siblings. Indexes count from 1. */
export interface Place {
	index: number;
	count: number;
	/** Among the siblings with the same tag. */
	typeIndex: number;
	typeCount: number;
}

export type Test = (element: Element, place: Place) => boolean;

const parse = createParser({ syntax: "selectors-4" });

/** Throws if the text is no compound, or uses what is not supported. */
export const compoundTest = (compound: string): Test => some(parse(compound).rules);

function some(rules: readonly AstRule[]): Test {
	const tests = rules.map(every);
	return (element, place) => tests.some((test) => test(element, place));
}

function every({ items, combinator, nestedRule }: AstRule): Test {
	if (combinator || nestedRule) throw new TypeError("a compound has no combinators");
	const tests = items.map(testOf);
	return (element, place) => tests.every((test) => test(element, place));
}

function testOf(item: AstRule["items"][number]): Test {
	switch (item.type) {
		case "WildcardTag":
			return () => true;
		case "TagName":
			return ({ tagName }) => tagName === item.name;
		case "Id":
			return ({ properties }) => properties.id === item.name;
		case "ClassName":
			return ({ properties }) => classNames(properties).includes(item.name);
		case "Attribute":
			return attributeTest(item);
		case "PseudoClass":
			return pseudoClassTest(item);
		default:
			throw new TypeError(`${item.type} is not supported`);
	}
}

export const classNames = (properties: Properties): string[] => String(properties.class ?? "").split(/\s+/);

function attributeTest({ name, operator, value, caseSensitivityModifier }: AstAttribute): Test {
	const normalize = (text: string): string => (caseSensitivityModifier === "i" ? text.toLowerCase() : text);
	const key = name.toLowerCase();
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
			return actual.split(/\s+/).includes(expected);
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
	if (!test || argument) throw new TypeError(`:${name} is not supported`);
	return test;
}

/** Whether `position` is `a * n + b` for an `n` of 0 or more. */
const isInSeries = ({ a, b }: AstFormula, position: number): boolean =>
	a === 0 ? position === b : (position - b) % a === 0 && (position - b) / a >= 0;

const COUNTED: ReadonlyMap<string, (place: Place) => number> = new Map([
	["nth-child", ({ index }) => index],
	["nth-last-child", ({ index, count }) => count + 1 - index],
	["nth-of-type", ({ typeIndex }) => typeIndex],
	["nth-last-of-type", ({ typeIndex, typeCount }) => typeCount + 1 - typeIndex],
]);

const LINKS = new Set(["a", "area", "link"]);
const REQUIRABLE = new Set(["input", "textarea", "select"]);
const DISABLEABLE = new Set([...REQUIRABLE, "button", "optgroup", "option", "menuitem", "fieldset"]);
const CHECKABLE = new Set(["input", "menuitem"]);

const isDisabled: Test = ({ tagName, properties }) =>
	DISABLEABLE.has(tagName) && properties.disabled !== undefined;
const isRequired: Test = ({ tagName, properties }) =>
	REQUIRABLE.has(tagName) && properties.required !== undefined;
const isChecked: Test = ({ tagName, properties: { checked, selected, type } }) =>
	tagName === "option"
		? selected !== undefined
		: CHECKABLE.has(tagName) && (type === "checkbox" || type === "radio") && checked !== undefined;

const SIMPLE: ReadonlyMap<string, Test> = new Map<string, Test>([
	["first-child", (_, { index }) => index === 1],
	["last-child", (_, { index, count }) => index === count],
	["only-child", (_, { count }) => count === 1],
	["first-of-type", (_, { typeIndex }) => typeIndex === 1],
	["last-of-type", (_, { typeIndex, typeCount }) => typeIndex === typeCount],
	["only-of-type", (_, { typeCount }) => typeCount === 1],
	["any-link", ({ tagName, properties }) => LINKS.has(tagName) && properties.href !== undefined],
	["checked", isChecked],
	["disabled", isDisabled],
	["enabled", (element, place) => !isDisabled(element, place)],
	["required", isRequired],
	["optional", (element, place) => !isRequired(element, place)],
]);
