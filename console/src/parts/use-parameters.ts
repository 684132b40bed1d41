import { useEffect, useRef, useState } from "react";
import { useLocation, useNavigate } from "react-router";

type Values<Name extends string> = Readonly<Record<Name, string>>;

/**
 * Values in the address, so that a link and a reload keep them. A value that is empty, or its default, is left out. The router
 * shows an address later, in a transition, so a field that took its text from there would lose what is typed meanwhile.
 */
export function useParameters<Name extends string>(
	defaults: Values<Name>,
): [values: Values<Name>, set: (changes: Partial<Record<Name, string>>) => void] {
	const { search } = useLocation();
	const navigate = useNavigate();
	const [values, setValues] = useState(() => valuesIn(search, defaults));
	const latest = useRef(values);
	/** Addresses of changes that the router has not shown yet. It may leave out all but the last. */
	const pending = useRef<string[]>([]);
	const show = (shown: Values<Name>): void => {
		latest.current = shown;
		setValues(shown);
	};
	// biome-ignore lint/correctness/useExhaustiveDependencies: the defaults are the same for each address.
	useEffect(() => {
		const own = pending.current.lastIndexOf(search);
		pending.current.splice(0, own + 1);
		if (own === -1) show(valuesIn(search, defaults));
	}, [search]);

	const set = (changes: Partial<Record<Name, string>>): void => {
		show({ ...latest.current, ...changes });
		const address = addressOf(latest.current, defaults);
		if (address === (pending.current.at(-1) ?? search)) return;
		pending.current.push(address);
		navigate({ search: address }, { replace: true });
	};
	return [values, set];
}

function valuesIn<Name extends string>(search: string, defaults: Values<Name>): Values<Name> {
	const parameters = new URLSearchParams(search);
	const values: Record<Name, string> = { ...defaults };
	for (const name in defaults) values[name] = parameters.get(name) ?? defaults[name];
	return values;
}

function addressOf<Name extends string>(values: Values<Name>, defaults: Values<Name>): string {
	const parameters = new URLSearchParams();
	for (const name in defaults)
		if (values[name] !== "" && values[name] !== defaults[name]) parameters.set(name, values[name]);
	return parameters.size > 0 ? `?${parameters}` : "";
}
