import { useSearchParams } from "react-router";

/**
 * Values in the address, so that a link and a reload keep them. A value that is empty, or its default, is left out.
 */
export function useParameters<Name extends string>(
	defaults: Readonly<Record<Name, string>>,
): [values: Readonly<Record<Name, string>>, set: (changes: Partial<Record<Name, string>>) => void] {
	const [parameters, setParameters] = useSearchParams();
	const values: Record<Name, string> = { ...defaults };
	for (const name in defaults) values[name] = parameters.get(name) ?? defaults[name];
	const set = (changes: Partial<Record<Name, string>>): void =>
		setParameters(
			(before) => {
				const after = new URLSearchParams(before);
				for (const name in changes) {
					const value = changes[name] ?? "";
					if (value === "" || value === defaults[name]) after.delete(name);
					else after.set(name, value);
				}
				return after;
			},
			{ replace: true },
		);
	return [values, set];
}
