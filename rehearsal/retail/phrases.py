"""The words of drafted tasks: several ways to want the same thing, in the second person."""

MOODS = (
    "",
    "",
    "patient and polite",
    "in a hurry",
    "brief",
    "a bit disorganized",
    "cheerful",
    "direct",
    "careful with money",
)
LEAD_INS = (("",), ("", "Besides,", "Then", "Also,"))
BY_MISTAKE = (
    "you ordered it by mistake",
    "it was ordered by accident",
    "you clicked the wrong button and did not mean to order it",
    "it was an accident: you never meant to buy it",
)
NO_NEED = (
    "you no longer need it",
    "you do not need it any more",
    "you have found it cheaper elsewhere",
    "you have changed your mind about it",
)
SWAPS = (
    "the {item} for one with {new}",
    "the {item} for the same one but with {new}",
    "the {item} for one with {new}, everything else the same",
)
PHRASES = {
    "cancel_pending_order": (
        "you want to cancel {order}, because {why}.",
        "you would like {order} to be cancelled: {why}.",
        "you want {order} called off, as {why}.",
    ),
    "return_delivered_order_items": (
        "you want to return {items} from {order}, with the refund to {method}.",
        "you want to send {items} of {order} back and get the money on {method}.",
        "you are not happy with {items} from {order} and would like to return that; the refund should go to {method}.",
    ),
    "exchange_delivered_order_items": (
        "you want to exchange, in {order}, {swaps}. Any difference goes to {method}.",
        "for {order}, you want to swap {swaps}. You use {method} for the price difference.",
    ),
    "modify_pending_order_items": (
        "in {order}, you want to change {swaps}. Any difference goes to {method}.",
        "you picked wrong options in {order} and want to exchange {swaps}. Use {method} for the price difference.",
    ),
    "modify_pending_order_payment": (
        "you want {order} to be paid with {method} instead.",
        "you want to change the payment of {order} to {method}.",
        "you would rather pay for {order} with {method}.",
    ),
    "modify_pending_order_address": (
        "you want {order} to be shipped to {address}.",
        "you want to change the shipping address of {order} to {address}.",
        "{order} should go to another address: {address}.",
    ),
    "modify_user_address": (
        "you have moved and want the default address in your profile changed to {address}.",
        "you want to update the address in your account to {address}.",
    ),
    "lookup": (
        "you want to know {about}.",
        "you would like to be told {about}.",
        "you need to find out {about}.",
    ),
}
