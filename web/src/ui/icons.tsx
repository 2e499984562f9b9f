// Line icons of one size and stroke. They are decorative: the control carries the label.
import type { ReactNode } from "react";

function Icon({ children, size = 18 }: { children: ReactNode; size?: number }) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round">
      {children}
    </svg>
  );
}
const path = (d: string) =>
  function PathIcon({ size }: { size?: number }) {
    return (
      <Icon size={size}>
        <path d={d} />
      </Icon>
    );
  };

export const MenuIcon = path("M4 7h16M4 12h16M4 17h16");
export const PlusIcon = path("M12 5v14M5 12h14");
export const SearchIcon = path("M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4");
export const SendIcon = path("M12 19V5M6 11l6-6 6 6");
export const StopIcon = path("M7 7h10v10H7z");
export const PauseIcon = path("M9 6v12M15 6v12");
export const PlayIcon = path("M8 5l11 7-11 7z");
export const CheckIcon = path("M5 13l4 4L19 7");
export const CloseIcon = path("M6 6l12 12M18 6L6 18");
export const EditIcon = path("M4 20l1-4L16 5l3 3L8 19zM14 7l3 3");
export const RetryIcon = path("M4 12a8 8 0 1 0 3-6.2M4 4v4h4");
export const UpIcon = path("M12 19V5M7 10l5-5 5 5");
export const DownIcon = path("M12 5v14M7 14l5 5 5-5");
export const LeftIcon = path("M15 6l-6 6 6 6");
export const RightIcon = path("M9 6l6 6-6 6");
export const TrashIcon = path("M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13");
export const MoreIcon = path("M12 6h.01M12 12h.01M12 18h.01");
export const CommentIcon = path("M5 5h14v10h-8l-4 4v-4H5z");
export const AttachIcon = path("M20 11l-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 5 5l-8.5 8.4a1.7 1.7 0 0 1-2.4-2.4L15 7");
export const SunIcon = path("M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5");
export const MoonIcon = path("M20 14.5A8 8 0 1 1 9.5 4a6.5 6.5 0 0 0 10.5 10.5z");
export const ForkIcon = path("M7 4v16M7 14c0-5 10-3 10-8M17 6V4M5 4h4M15 4h4");
export const DownloadIcon = path("M12 4v11M7 11l5 5 5-5M5 20h14");
export const WarningIcon = path("M12 4l9 16H3zM12 10v4M12 17h.01");
export const DragIcon = path("M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01");
export const SettingsIcon = path("M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4");
export const InboxIcon = path("M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5");
export const BookIcon = path("M5 4h10a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h10");
export const ThumbUpIcon = path("M7 20V10l4-7 2 1v5h6l-1.5 11zM4 10h3v10H4z");
export const LogOutIcon = path("M14 5V4H5v16h9v-1M10 12h11M17 8l4 4-4 4");
export const LinkIcon = path("M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1");

export function Logo({ size = 26 }: { size?: number }) {
  return (
    <svg aria-hidden="true" width={size} height={size} viewBox="0 0 32 32">
      <rect width="32" height="32" rx="8" fill="#4f46e5" />
      <path d="M8 9h12a3 3 0 0 1 3 3v5a3 3 0 0 1-3 3h-6l-5 4v-4H8z" fill="#fff" />
      <path d="M12 14.5l2.5 2.5 5-5" fill="none" stroke="#4f46e5" strokeWidth="2.2" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}
