/** The metadata indexes of an index, with numbers, and the conditions of a filter on them. */
import { propertyNotIndexed } from "./failures.ts";
import { isList } from "./filter.ts";
import { MAX_METADATA_INDEXES } from "./limits.ts";
import type { FilterCondition, FilterOperator, FilterValue, MetadataIndex, MutationKind } from "./records.ts";

/** Only vectors that are written later than a metadata index have values in it: a number is not used again. */
export interface NumberedProperty extends MetadataIndex {
	number: number;
}

/** `last`: the last number that was used. */
export interface NumberedProperties {
	all: readonly NumberedProperty[];
	last: number;
}

/** An index that exists is not created again. All types of the property are deleted. `undefined`: there would be too many. */
export function changedProperties(
	operation: MutationKind,
	{ propertyName, indexType }: MetadataIndex,
	{ all, last }: NumberedProperties,
): NumberedProperties | undefined {
	if (operation === "delete-metadata-index")
		return { all: all.filter((property) => property.propertyName !== propertyName), last };
	if (all.some((property) => property.propertyName === propertyName && property.indexType === indexType))
		return { all, last };
	if (all.length >= MAX_METADATA_INDEXES) return undefined;
	return { all: [...all, { propertyName, indexType, number: last + 1 }], last: last + 1 };
}

/** A condition on the metadata indexes of one property. */
export interface SelectedCondition {
	operator: FilterOperator;
	values: readonly FilterValue[];
	/** Of the property, by the type of their values. */
	numbers: Readonly<Partial<Record<MetadataIndex["indexType"], number>>>;
}

/** Throws 40022 if a property has no metadata index. */
export function selectedConditions(
	filter: readonly FilterCondition[],
	properties: readonly NumberedProperty[],
): SelectedCondition[] {
	return filter.map((condition) => {
		const own = properties.filter(({ propertyName }) => propertyName === condition.property);
		if (own.length === 0) throw propertyNotIndexed(condition.property);
		return {
			operator: condition.operator,
			values: isList(condition) ? condition.values : [condition.value],
			numbers: Object.fromEntries(own.map(({ indexType, number }) => [indexType, number])),
		};
	});
}

/** SQL operators. */
export const COMPARISONS: Readonly<Partial<Record<FilterOperator, string>>> = {
	$lt: "<",
	$lte: "<=",
	$gt: ">",
	$gte: ">=",
};

/** The metadata index that has values of this type. */
export const numberFor = (
	value: FilterValue | undefined,
	numbers: SelectedCondition["numbers"],
): number | undefined => numbers[typeof value as MetadataIndex["indexType"]];
