/** A field for a name, such as that of a model, with suggestions. Other names may be typed, too. */
import { Input } from "@cloudflare/kumo/components/input";
import { useId } from "react";

interface Props {
	label: string;
	placeholder?: string;
	required?: boolean;
	readOnly?: boolean;
	/** They are suggested. */
	names: readonly string[];
	value: string;
	onChange(value: string): void;
}

export function NameField({ names, onChange, ...field }: Props) {
	const list = useId();
	return (
		<>
			<Input {...field} autoComplete="off" list={list} onChange={(event) => onChange(event.target.value)} />
			<datalist id={list}>
				{names.map((name) => (
					<option key={name} value={name} />
				))}
			</datalist>
		</>
	);
}
