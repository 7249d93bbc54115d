from django.urls import path

from .views import shipping

urlpatterns = [path("shipping/<str:country>", shipping)]
