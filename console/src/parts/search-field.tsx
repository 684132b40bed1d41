import { Input } from "@cloudflare/kumo/components/input";

interface Props {
	label: string;
	placeholder?: string;
	value: string;
	onSearch(text: string): void;
}

/** Filters the rows below it. */
export const SearchField = ({ onSearch, ...field }: Props) => (
	<Input {...field} type="search" onChange={(event) => onSearch(event.target.value)} />
);
