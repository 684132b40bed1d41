/** Changes of the metadata indexes of an index. */
import { MAX_METADATA_INDEXES } from "../limits.ts";
import type { MetadataIndex, MutationKind } from "../records.ts";
import type { NumberedProperty } from "./property-table.ts";

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
