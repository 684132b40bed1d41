/** Fields in an address, as the API reads them: an array is a parameter for each of its values. */
export const queryOf = (fields: Readonly<Record<string, unknown>>): URLSearchParams =>
	new URLSearchParams(
		Object.entries(fields).flatMap(([name, value]) => [value].flat().map((each) => [name, String(each)])),
	);
