/** Settings of the property tests. */
import fc from "fast-check";
import { inject } from "vitest";

fc.configureGlobal({
	...fc.readConfigureGlobal(),
	// Otherwise fast-check keeps an array near 10 elements, whatever its `maxLength` is.
	defaultSizeToMaxWhenMaxSpecified: true,
	seed: inject("propertySeed"),
});
